"""The fixed text of the launch script, section by section.

It uses shell variables only (`command`, `table`, `devices`, `port`, `run`, `logs`); the sections of `bash` set them.
"""

START = r"""
case ${BASH_VERSION:-} in
    '' | [1-3].* | 4.[0-2].*) echo "error: this needs bash 4.3 or newer; start it with: bash $0" >&2; exit 2 ;;
esac
set +o posix # where sh is bash
set -euo pipefail
"""

CHECK_TABLE = r"""
die() { # LINE ...
    printf '%s\n' "$@" >&2
    exit 2
}

for tool in env grep mkdir readlink setsid sha256sum sleep tail; do
    command -v "$tool" >/dev/null || die "error: $tool is not on PATH" \
        '  fix: install coreutils, grep and util-linux'
done

# The table lies beside this script, so the two can be moved together. Symbolic links are resolved: torch_npu passes
# over a table that is one. HCCL takes the first ".json" of a path for its end.
here=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")
table=$(readlink -f -- "$here/$table_name") || table=$here/$table_name
[[ -f $table && -r $table ]] || die "error: no rank table to read at $table" '  fix: put it back beside this script'
[[ ${table%%.json*}.json == "$table" ]] || die "error: HCCL cannot read $table" '  fix: .json may only be its end'
found=$(sha256sum <"$table")
[[ ${found%% *} == "$table_sha256" ]] || die "error: this script was made for another rank table than $table" \
    "  expected sha256 $table_sha256" "  found    sha256 ${found%% *}" \
    '  fix: put the old table back, or write table and script anew with hccl-gen'
"""

FREE_PORT = r"""
bind='import socket, sys
for port in sys.argv[1:]:
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try: s.bind(("", int(port)))
        except OSError: continue
    print(port)
    break'

first_free() { # PORT ...: print the first that can be bound, if one can
    local python port
    for python in "${command[0]}" python3 python; do
        if [[ ${python##*/} == python* ]] && "$python" -I -c "$bind" "$@" 2>/dev/null; then return; fi
    done
    echo 'note: no python is here to bind the port; all that is known of it is that nobody answers there now' >&2
    for port; do
        if ! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then echo "$port" && return; fi
    done
}

choose_port() { # NAME: take the port in the variable NAME; where it is not set, a random one
    local candidates=() unset_it="  fix: unset $1, and a free port is taken"
    if [[ -n ${!1:-} ]]; then
        [[ ${!1} =~ ^[1-9][0-9]{0,4}$ && ${!1} -le 65535 ]] || die "error: $1=${!1} is no port, 1 to 65535" "$unset_it"
        candidates=("${!1}")
    else # below 32768, from where on the system hands ports out by itself
        for _ in {1..20}; do candidates+=($((20000 + RANDOM % 12000))); done
    fi
    port=$(first_free "${candidates[@]}")
    [[ -n $port ]] ||
        die "error: $1=${candidates[0]} cannot be bound on this host (taken, or below 1024 without the right)" \
            "$unset_it"
}
"""

LOGS = r"""
printf -v run '%(%Y%m%d-%H%M%S)T-%s' -1 "$$"
logs=$PWD/hccl_logs/$run
if ! mkdir -p hccl_logs || ! mkdir -- "$logs"; then die "error: cannot make the log folder $logs"; fi
"""

GUARD = r"""
# The guard shows rank 0, and ends every rank once its pipe is closed: by this script, or by its death, whatever the
# cause. It has a session of its own, so that it outlives the script. It reads "RANK PID" and names of signals.
guard() { # LOGS MARK
    trap '' HUP INT TERM
    local rank pid path signal screen='' signals=(TERM KILL) ranks=()
    send() { # SIGNAL, once: to the group of every rank, or to the rank where it has no group of its own yet
        local pid failed=1
        for pid in "${ranks[@]}"; do
            if kill -s "$1" -- "-$pid" || kill -s "$1" -- "$pid"; then failed=0; fi
        done
        return "$failed"
    }
    while read -r rank pid; do
        if [[ -z $pid ]]; then
            signals=("$rank" "${signals[@]}")
            continue
        fi
        ranks+=("$pid")
        if [[ $rank == 0 ]]; then
            tail -n +1 -f -s 0.1 --pid="$pid" -- "$1/rank_0.log" &
            screen=$!
        fi
    done
    for signal in "${signals[@]}"; do
        if [[ $signal == KILL ]]; then
            # Who left the group of its rank still has MARK in its environment. Where a process hangs in a driver,
            # reading its environment may hang too, which is not waited for.
            while read -r -t 0.3 path; do
                path=${path#/proc/}
                ranks+=("${path%/environ}")
            done < <(grep --line-buffered -lzxF -e "$2" /proc/[0-9]*/environ)
        fi
        send "$signal" || continue
        for _ in {1..16}; do
            sleep 0.05
            send 0 || { ranks=(); break; }
        done
    done
    # What outlives KILL hangs in a driver; its output is not waited for.
    ! send 0 || kill -s KILL "$screen"
    wait "$screen"
} 2>/dev/null
"""

RUN_RANK = r"""
# Jobs of a script are born deaf to Ctrl-C. The env of coreutils 8.31 gives a rank its hearing back; where it is older,
# the guard's SIGTERM ends the rank.
own_session=(setsid)
if env --default-signal=INT true 2>/dev/null; then own_session=(env '--default-signal=INT,QUIT' setsid); fi

# One rank, the leader of its process group. It is with the guard before it becomes the command, and keeps the pipe
# open until then, so the guard misses none. Who fails is noted in the order of failing.
run_rank() { # RANK COMMAND ...
    local rank=$1 code=0
    shift
    rank_environment "$rank"
    (echo "$rank $BASHPID" >&9 && exec "${own_session[@]}" "$@" 9>&-) >"$logs/rank_$rank.log" 2>&1 &
    trap '' HUP TERM # a signal to all of us must not orphan the rank; the guard ends it
    exec 9>&-
    wait $! || code=$?
    ((code == 0)) || echo "$rank $code" >>"$logs/failed"
    exit "$code"
}
"""

END = r"""
end_ranks() {
    trap '' HUP INT TERM
    exec 9>&-
    while kill -0 "$guard" 2>/dev/null; do sleep 0.05; done
}

quit() { # SIGNAL CODE: every process gets the signal that this script got
    [[ $1 == TERM ]] || echo "$1" >&9 # TERM is sent anyway
    end_ranks
    echo "ended by SIG$1; logs in $logs" >&2 || :
    exit "$2"
}

report() { # CODE: end the job and say who failed first; nobody noted it where a helper was killed, with CODE
    local rank='' code=$1 signal=''
    [[ ! -s $logs/failed ]] || read -r rank code <"$logs/failed"
    end_ranks
    ((code <= 128)) || signal=$(kill -l "$code" 2>/dev/null) || :
    echo
    if [[ -z $rank ]]; then
        echo "error: a rank was lost, exit code $code; logs in $logs"
        exit "$code"
    fi
    echo "error: rank $rank on device ${devices[rank]} of $HOSTNAME failed with exit code $code${signal:+ (SIG$signal)}"
    echo "  the end of $logs/rank_$rank.log:"
    tail -n 20 -- "$logs/rank_$rank.log"
    exit "$code"
}
"""

MAIN = r"""
exec 9> >(exec setsid "$BASH" -c "$(declare -f guard); guard \"\$@\"" guard "$logs" "$mark")
guard=$!
trap 'quit HUP 129' HUP
trap 'quit INT 130' INT
trap 'quit TERM 143' TERM
echo "ranks 0 to $((${#devices[@]} - 1)) on devices ${devices[*]} of $HOSTNAME, port $port, logs in $logs"
for rank in "${!devices[@]}"; do
    run_rank "$rank" "${command[@]}" "$@" 2>/dev/null &
done

code=0
for rank in "${devices[@]}"; do
    wait -n || { code=$?; break; }
done
((code == 0)) || report "$code" >&2
end_ranks
"""
