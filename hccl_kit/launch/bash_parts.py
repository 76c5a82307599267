"""The fixed text of the launch script: its options, the checks before the start, and the way from start to end.

It uses shell variables only (`command`, `table`, `devices`, `ranks`, `port`, `run`, `logs`); the sections of `bash` set
them. The ranks of this server are in `bash_ranks`, what several servers need in `bash_nodes`.
"""

START = r"""
case ${BASH_VERSION:-} in
    '' | [1-3].* | 4.[0-2].*) echo "error: this needs bash 4.3 or newer; start it with: bash $0" >&2; exit 2 ;;
esac
set +o posix # where sh is bash
set -euo pipefail
"""

OPTIONS = r"""
die() { # LINE ...
    printf '%s\n' "$@" >&2
    exit 2
}

help() { # the comment at the top of this file
    local line
    while read -r line && [[ $line == '#'* ]]; do
        [[ $line == '#!'* ]] || echo "${line:2}"
    done <"${BASH_SOURCE[0]}"
    exit 0
}

number() { # OPTION VALUE
    [[ $2 =~ ^(0|[1-9][0-9]{0,6})$ ]] || die "error: $1 is '$2'; accepted: a number from 0 to 9999999"
}

one_screen=''
[[ ! /dev/fd/1 -ef /dev/fd/2 ]] || one_screen=1 # what goes to stdout and to stderr is read in one place
max_restarts=0 heartbeat=0 log_limit=1024 shown=first lifeline='' over_ssh='' run='' own_options=()
while (($# > 0)); do
    given=("$1")
    case $1 in
        --server | --max-restarts | --heartbeat-timeout | --log-limit | --run)
            (($# > 1)) || die "error: $1 needs a value"
            given+=("$2") ;;&
        --max-restarts | --heartbeat-timeout | --log-limit) number "$1" "$2" ;;&
        --server) server=$2 ;;
        --run) run=$2 ;; # with --lifeline, from the script on another server that was started with --ssh
        --lifeline) lifeline=1 ;;
        --max-restarts) max_restarts=$2 ;;
        --heartbeat-timeout) heartbeat=$2 ;;
        --log-limit) log_limit=$2 ;;
        --prefix) shown=all ;;
        --ssh) over_ssh=1 && shift && continue ;;
        -h | --help) help ;;
        --) shift && break ;;
        *) break ;;
    esac
    own_options+=("${given[@]}")
    shift "${#given[@]}"
done
[[ -z $run || $run =~ ^[0-9]{1,20}(-[0-9]{1,20})+$ ]] || die "error: --run is '$run', which names no run"
"""

CHECK_TABLE = r"""
for tool in cp env grep ln mkdir readlink sed setsid sha256sum sleep stat tail touch; do
    command -v "$tool" >/dev/null || die "error: $tool is not on PATH" \
        '  fix: install coreutils, grep, sed and util-linux'
done

# The table lies beside this script, so the two can be moved together. Symbolic links are resolved: torch_npu passes
# over a table that is one. HCCL takes the first ".json" of a path for its end.
script=$(readlink -f -- "${BASH_SOURCE[0]}")
here=${script%/*}
table=$(readlink -f -- "$here/$table_name") || table=$here/$table_name
[[ -f $table && -r $table ]] || die "error: no rank table to read at $table" '  fix: put it back beside this script'
[[ ${table%%.json*}.json == "$table" ]] || die "error: HCCL cannot read $table" '  fix: .json may only be its end'
found=$(sha256sum <"$table")
[[ ${found%% *} == "$table_sha256" ]] || die "error: this script was made for another rank table than $table" \
    "  expected sha256 $table_sha256" "  found    sha256 ${found%% *}" \
    '  fix: put the old table back, or write table and script anew with hccl-gen'
"""

PORT = r"""
find_python() { # MINOR: the one of the command, else of PATH, from 3.MINOR on; sets python, empty where none is
    local is_new="import sys; sys.exit(sys.version_info < (3, $1))"
    for python in "${command[0]}" python3 python ''; do # python_train.sh is no python, and is not to start here
        if [[ ${python##*/} =~ ^python[0-9.]*$ ]] && "$python" -I -c "$is_new" 2>/dev/null; then break; fi
    done
}

bind='import socket, sys
for port in sys.argv[1:]:
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try: s.bind(("", int(port)))
        except OSError: continue
    print(port)
    break'

first_free() { # PORT ...: print the first that can be bound, if one can
    local port
    [[ -z $python ]] || { "$python" -I -c "$bind" "$@" && return; }
    echo 'note: no python is here to bind the port; all that is known of it is that nobody answers there now' >&2
    for port; do
        if ! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then echo "$port" && return; fi
    done
}

given_port=${!port_name:-} # by the user; the ranks are told another under this name

choose_port() { # the one that is given, else a random one
    local candidates=() unset_it="  fix: unset $port_name, and a free port is taken"
    if [[ -n $given_port ]]; then
        [[ $given_port =~ ^[1-9][0-9]{0,4}$ && $given_port -le 65535 ]] ||
            die "error: $port_name=$given_port is no port, 1 to 65535" "$unset_it"
        candidates=("$given_port")
    else # below 32768, from where on the system hands ports out by itself
        for _ in {1..20}; do candidates+=($((20000 + RANDOM % 12000))); done
    fi
    port=$(first_free "${candidates[@]}")
    [[ -n $port ]] ||
        die "error: $port_name=${candidates[0]} cannot be bound on this host (taken, or below 1024 without the right)" \
            "$unset_it"
}
"""

ALONE = r"""
meet() { # what the ranks of one server agree on
    [[ -n $run ]] || printf -v run '%(%Y%m%d-%H%M%S)T-%s' -1 "$$"
    choose_port
}
tell() { :; }
judged() { :; }
link='' judged_rank='' judged_code='' judged_where=''

[[ -z $server || $server == "$server_name" ]] || die "error: the table has no server $server; it has $server_name"
"""

LOGS = r"""
make_logs() {
    logs=$PWD/hccl_logs/$run
    ((attempt == 0)) || logs+=/restart_$attempt
    mkdir -p -- "$logs" || die "error: cannot make the log folder $logs"
    ln -sfn -- "$run" hccl_logs/latest 2>/dev/null || :
}
"""

MAIN = r"""
run_ranks() { # ARGUMENT ...: start the ranks of this server, return when all are over with the exit code of the job
    local i jobs=() code=0
    start_guard "$shown"
    echo "ranks ${ranks[0]} to ${ranks[-1]} on devices ${devices[*]} of $HOSTNAME, port $port, logs in $logs"
    for i in "${!ranks[@]}"; do
        run_rank "$i" "${command[@]}" "$@" 2>/dev/null &
        jobs+=($!)
    done
    watch_ranks >/dev/null 2>&1 &
    jobs+=($!)
    wait_for_ranks "${jobs[@]}" ${link:+"$link"} ${lifeline:+"$lifeline"} || code=$?
    if ((code == 0)); then
        end_ranks
        tell 'done'
        if ! judged; then # a server that was not done yet
            code=$judged_code
            ((judged_rank != -2)) || max_restarts=0
            [[ -n $lifeline ]] || describe_other "$judged_rank" "$code" "$judged_where" >&2
        fi
    else
        conclude "$code" >&2 || code=$?
    fi
    [[ -z $link ]] || jobs+=("$link")
    wait "${jobs[@]}" 2>/dev/null || : # or the next start would hear of them
    forget_notes
    return "$code"
}

# Without `wait -n`: it waits on where the last one ends in the moment that it is called (bash 5.2, measured: in one of
# 700 jobs whose two ranks end together), and from bash 5.3 on it returns for a process substitution too.
wait_for_ranks() { # PID ...: of the ranks, then of their helpers; until each rank has ended well, or one of all has
    # not, or the guard was killed
    local i pids=("$@") left=${#ranks[@]}
    while :; do
        is_running "$guard" || { echo 'guard -1 137' >&8 && return 137; }
        for i in "${!pids[@]}"; do
            if kill -0 "${pids[i]}" 2>/dev/null; then continue; fi
            wait "${pids[i]}" 2>/dev/null || return
            unset "pids[i]"
            ((i >= ${#ranks[@]})) || left=$((left - 1))
        done
        ((left > 0)) || return 0
        if read -r -t 0 -u 8; then return 1; fi # somebody says that the job is over
        idle 0.1
    done
}

# A job that could not start (2) would not start again. Over ssh, nobody would look at one whose starter is gone.
may_restart() { # CODE
    ((attempt < max_restarts && $1 != 2)) || return 1
    [[ -z $lifeline ]] || kill -0 "$lifeline" 2>/dev/null
}

# Ranks take their steps together. So that all servers do the same, the first alone compares.
is_stuck() { # STEP: that the ranks of this server came to, empty where they count none
    ((node == 0 && attempt > 0)) && [[ -n $last_step && ${1:-0} -le $last_step ]] || return 1
    echo "given up after restart $attempt: it came to step ${1:-0}, and to step $last_step the time before" >&2
}

exec 6<> <(:) 8<> <(:)
hear_signals
attempt=0 last_step='' last_code='' given_up='' guard=''
[[ -z $lifeline ]] || take_lifeline
while :; do
    meet
    ((port > 0)) || exit "${last_code:-2}" # the first server has given up
    make_logs
    job_environment
    code=0
    run_ranks "$@" || code=$?
    ((code != 0)) || exit 0
    may_restart "$code" || exit "$code"
    step=$(furthest_step)
    if is_stuck "$step"; then
        [[ -n $link$token ]] || exit "$code"
        given_up=1 # which the others hear when they come to start again
    fi
    last_step=$step last_code=$code
    attempt=$((attempt + 1))
    pause=$((attempt < 6 ? 2 ** (attempt - 1) : 30))
    [[ -n $given_up ]] || echo "restart $attempt of $max_restarts in $pause s" >&2
    before_nap=$!
    sleep "$pause" >/dev/null 2>&1 7>&- &
    wait $! || :
    before_nap=''
done
"""
