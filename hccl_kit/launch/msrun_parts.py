"""The fixed text of the script that starts msrun, section by section, and the program between msrun and a rank."""

WORKER = r"""
import os, subprocess, sys

logs, *command = sys.argv[1:]
try:
    code = subprocess.call(command)
except OSError as error:
    print(f"{command[0]}: {error.strerror}", flush=True)
    code = 127
code = code if code >= 0 else 128 - code
if code:
    name = "scheduler" if os.environ["MS_ROLE"] == "MS_SCHED" else "worker_" + os.environ["RANK_ID"]
    with open(f"{logs}/failed", "a") as failed:
        failed.write(f"{name} {code}\n")
sys.exit(code)
"""
"""msrun starts this as every worker, and as its scheduler. It notes who fails, in the order of failing, with the exit
code: msrun itself tells neither. So any command can be started, not only a script in Python.
"""

OPTIONS = r"""
die() { # LINE ...
    printf '%s\n' "$@" >&2
    exit 2
}

for tool in grep hostname ip mkdir python setsid sleep tail; do
    command -v "$tool" >/dev/null || die "error: $tool is not on PATH" \
        '  fix: install coreutils, grep, iproute2, python 3 and util-linux'
done
command -v msrun >/dev/null || die 'error: msrun is not on PATH' \
    '  fix: put the bin folder of the python that has MindSpore first on PATH'

if [[ ${1:-} == --server ]]; then
    (($# > 1)) || die 'error: --server needs the server_id that the rank table gives this host'
    server=$2
    shift 2
fi
[[ ${1:-} != -- ]] || shift
"""

LOGS = r"""
printf -v run '%(%Y%m%d-%H%M%S)T-%s.%s' -1 "$$" "$node"
logs=$PWD/hccl_logs/$run
if ! mkdir -p hccl_logs || ! mkdir -- "$logs"; then die "error: cannot make the log folder $logs"; fi
"""

GUARD = r"""
# msrun leaves its workers to live on when it is ended. The guard ends every process with MARK in its environment once
# its pipe is closed: by this script, or by its death, whatever the cause. It has a session of its own, so that it
# outlives the script.
guard() { # MARK
    trap '' HUP INT TERM
    local path signal found
    while read -r; do :; done
    for signal in TERM KILL KILL; do
        found=()
        while read -r -t 0.5 path; do
            path=${path#/proc/}
            found+=("${path%/environ}")
        done < <(grep --line-buffered -lzxF -e "$1" /proc/[0-9]*/environ)
        ((${#found[@]} > 0)) || break
        kill -s "$signal" "${found[@]}"
        for _ in {1..16}; do
            kill -s 0 "${found[@]}" || break
            sleep 0.05
        done
    done
} 2>/dev/null
"""

MAIN = r"""
end_job() {
    trap '' HUP INT TERM
    exec 9>&-
    while kill -s 0 "$guard" 2>/dev/null; do sleep 0.05; done
    ! kill -s 0 "$msrun" 2>/dev/null || kill -s KILL "$screen" # it hangs in a driver
    wait "$screen" || :
}

quit() { # SIGNAL CODE
    end_job
    echo "ended by SIG$1; logs in $logs" >&2 || :
    exit "$2"
}

first_failure() { # sets name and code; nobody noted it where msrun itself failed
    name='' code=0
    [[ ! -s $logs/failed ]] || read -r name code <"$logs/failed"
}

report() { # end the job and say who failed first: name with code
    local signal='' log=$logs/msrun.log what
    end_job
    echo
    if [[ -z $name ]]; then
        echo "error: msrun failed on $HOSTNAME with exit code $code"
    else
        ((code <= 128)) || signal=$(kill -l "$code" 2>/dev/null) || :
        what=$name
        [[ $name != worker_* ]] || what="rank ${name#worker_} on device ${devices[${name#worker_} - first]}"
        echo "error: $what of $HOSTNAME failed with exit code $code${signal:+ (SIG$signal)}"
        log=$logs/$name.log
    fi
    if ((code == 143 && size > ${#devices[@]})); then
        echo '  MindSpore ends a rank so when one of another host is lost; that host says why'
    fi
    # MindSpore goes on to write after the traceback of a program.
    echo "  the end of $log, without what MindSpore notes on its way:"
    grep -av '^\[\(INFO\|WARNING\)\] ' -- "$log" | tail -n 30 || :
    exit "$code"
}

exec 9> >(exec setsid "$BASH" -c "$(declare -f guard); guard \"\$@\"" guard "$mark")
guard=$!
trap 'quit HUP 129' HUP
trap 'quit INT 130' INT
trap 'quit TERM 143' TERM
echo "ranks $first to $((first + ${#devices[@]} - 1)) on devices ${devices[*]} of $HOSTNAME (server $server_name)," \
    "scheduler at $master:$port, logs in $logs"
log=$logs/worker_$first.log
: >"$log"
# msrun is told to show a worker that does not exist, since it would leave the programs that show them to live on.
env "$mark" setsid msrun --worker_num "$size" --local_worker_num "${#devices[@]}" --master_addr "$master" \
    --master_port "$port" --node_rank "$node" --join True --cluster_time_out 300 --log_dir "$logs" \
    --tail_worker_log "$size" python -I -c "$worker" "$logs" "${command[@]}" "$@" >"$logs/msrun.log" 2>&1 9>&- &
msrun=$!
tail -n +1 -f -s 0.1 --pid="$msrun" -- "$log" 2>/dev/null 9>&- &
screen=$!
while kill -s 0 "$msrun" 2>/dev/null && [[ ! -s $logs/failed ]]; do
    sleep 0.2 9>&- &
    wait $! || :
done
first_failure
[[ -n $name ]] || wait "$msrun" || code=$?
((code == 0)) || report >&2
end_job
"""
