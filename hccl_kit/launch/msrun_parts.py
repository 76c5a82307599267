"""The fixed text of the script that starts msrun, section by section, and the program between msrun and a rank."""

WORKER = r"""
import ctypes, os, signal, subprocess, sys

def end_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG of linux/prctl.h

end_with_parent()
logs, *command = sys.argv[1:]
try:
    code = subprocess.call(command, preexec_fn=end_with_parent)
except OSError as error:
    print(f"{command[0]}: {error.strerror}", flush=True)
    code = 127
code = code if code >= 0 else 128 - code
if code:
    name = "scheduler" if os.environ["MS_ROLE"] == "MS_SCHED" else "worker_" + os.environ["RANK_ID"]
    try:
        with open(f"{logs}/failed", "a") as failed:
            failed.write(f"{name} {code}\n")
    except OSError:  # the log folder is gone, or the disk is full: msrun ends all the same
        pass
sys.exit(code)
"""
"""msrun starts this as every worker, and as its scheduler. It notes who fails, in the order of failing, with the exit
code: msrun itself tells neither. So any command can be started, not only a script in Python.
"""

OPTIONS = r"""
one_screen=''
[[ ! /dev/fd/1 -ef /dev/fd/2 ]] || one_screen=1 # what goes to stdout and to stderr is read in one place

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

MEET = r"""
exec 6<> <(:) 8<> <(:)
guard='' run=''
hear_signals
meet
logs=$PWD/hccl_logs/$run.$node
if ! mkdir -p hccl_logs || ! mkdir -- "$logs"; then die "error: cannot make the log folder $logs"; fi
"""

GUARD = r"""
# msrun leaves its workers to live on when it is ended. The guard shows a rank, and ends every process with MARK in its
# environment once its pipe is closed: by this script, or by its death, whatever the cause. It has a session of its own,
# so that it outlives the script. It reads "msrun PID" and "watch PID". The script looks whether the guard is alive,
# and so does the watch, where the script may be gone too; the guard ends the watch first. Where all three are gone, the
# kernel ends msrun and asks its workers to.
guard() { # MARK LOG
    trap '' HUP INT TERM
    local kind path pid msrun='' watch='' screen='' signal found
    while read -r kind pid; do
        [[ $kind != watch ]] || watch=$pid
        [[ $kind == msrun ]] || continue
        msrun=$pid
        tail -n +1 -f -s 0.1 --pid="$msrun" -- "$2" &
        screen=$!
    done
    [[ -z $watch ]] || kill "$watch" # or it would start another guard once this one is done
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
    [[ -z $msrun ]] || ! kill -s 0 "$msrun" || kill -s KILL "$screen" # it hangs in a driver
    [[ -z $screen ]] || wait "$screen"
    echo 'done' >&5
} 2>/dev/null

start_guard() { # SHOWN: first or none of the ranks; sets guard and on_screen
    on_screen=$1
    exec 5<> <(:)
    exec 9> >(exec setsid "$BASH" -c "$(declare -f guard); guard \"\$@\"" guard "$mark" "$log")
    guard=$!
}

watch_guard() { # another one does the work of a dead one
    echo "watch $BASHPID" >&9 && exec 9>&-
    while is_running "$guard"; do idle 1; done
    start_guard none
}
"""

END = r"""
read_failed() { # sets name and code, as the worker program has noted them
    local line own=(scheduler "${ranks[@]/#/worker_}")
    [[ -f $logs/failed ]] && read -r -n 80 line <"$logs/failed" || return 1
    for name in "${own[@]}"; do
        code=${line#"$name "}
        if [[ $line == "$name $code" ]] && is_code "$code" && ((code > 0)); then return; fi
    done
    name='' code=0
    return 1
}

conclude() { # what became of msrun and its ranks here; the others hear of it, and it is agreed on who failed first
    local patience=-1
    if read_failed; then
        [[ $name != worker_* ]] || rank=${name#worker_}
    else # nobody noted it where msrun itself failed
        wait "$msrun" || code=$?
    fi
    if ((code == 0)); then tell 'done'; else tell "failed $rank $code 0" && patience=400; fi
    end_ranks
    judged "$patience" || rank=$judged_rank code=$judged_code where=$judged_where
}

# Both go to one place, the guard showed the log to its end, and nothing that is left out here follows its last line.
ends_screen() { # LOG LINE
    [[ -n $one_screen && $on_screen == first && -n $2 && $(tail -c "$((4 * ${#2} + 8))" -- "$1") == *"$2" ]]
} 2>/dev/null

describe() { # who failed here: the rank or scheduler `name`, without a name msrun
    local signal='' log=$logs/msrun.log what=$name end
    echo
    if [[ $name == guard ]]; then
        echo "error: the process that guards the ranks was killed, so the job was ended with exit code $code;" \
            "logs in $logs"
        return
    elif [[ -z $name ]]; then
        echo "error: msrun failed on $HOSTNAME with exit code $code"
    else
        ((code <= 128)) || signal=$(kill -l "$code" 2>/dev/null) || :
        [[ $name != worker_* ]] || what="rank $rank on device ${devices[rank - ranks[0]]}"
        echo "error: $what of $HOSTNAME failed with exit code $code${signal:+ (SIG$signal)}"
        log=$logs/$name.log
    fi
    # MindSpore goes on to write after the traceback of a program.
    { end=$(grep -av '^\[\(INFO\|WARNING\)\] ' -- "$log" | tail -n 30) || :; } 2>/dev/null # NUL would be complained of
    if [[ $name == "worker_${ranks[0]}" ]] && ends_screen "$log" "${end##*$'\n'}"; then
        echo "  its last lines are above, and in $log"
    else
        printf '%s\n' "  the end of $log, without what MindSpore notes on its way:" "$end"
    fi
}
"""

MAIN = r"""
log=$logs/worker_${ranks[0]}.log
: >"$log"
start_guard first
echo "ranks ${ranks[0]} to ${ranks[-1]} on devices ${devices[*]} of $HOSTNAME (server $server_name)," \
    "scheduler at $master:$port, logs in $logs"
# msrun is told to show a worker that does not exist, since it would leave the programs that show them to live on.
own_session=(setsid)
if setpriv --pdeathsig KILL true 2>/dev/null; then own_session=(setpriv --pdeathsig KILL -- setsid); fi
env "$mark" "${own_session[@]}" msrun --worker_num "$size" --local_worker_num "${#devices[@]}" \
    --master_addr "$master" --master_port "$port" --node_rank "$node" --join True --cluster_time_out 300 \
    --log_dir "$logs" --tail_worker_log "$size" python -I -c "$worker" "$logs" "${command[@]}" "$@" \
    >"$logs/msrun.log" 2>&1 5>&- 6>&- 7>&- 8>&- 9>&- &
msrun=$!
tell_guard "msrun $msrun"
watch_guard >/dev/null 2>&1 &

kind='' name='' rank=-2 code=0 where=$server_name
while is_running "$msrun" && [[ ! -s $logs/failed && -z $kind ]]; do
    is_running "$guard" || kind=guard name=guard rank=-3 code=137
    next_note 1 || [[ -z $link ]] || is_running "$link" || next_note 1 ||
        kind=over rank=-1 code=255 where=${servers[0]}
done
case $kind in
    '') conclude ;;
    guard)
        tell "failed $rank $code 0"
        end_ranks ;;
    *) end_ranks ;;
esac
if [[ $code != 0 && $where == "$server_name" && $rank != -1 ]]; then
    describe >&2
elif ((code != 0)); then
    describe_other "$rank" "$code" "$where" >&2
fi
[[ -z $link ]] || wait "$link" 2>/dev/null || :
((code == 0)) || exit "$code"
"""
