#!/usr/bin/env bash
# Starts ranks 0 to 3 on this host by msrun of MindSpore. Written by hccl_kit.
#
#   bash msrun4p.sh [ARGUMENT ...]      the arguments are added to the command below
#
# Made from the rank table with sha256 a7e38ab91eac686ea25677415fa0963182392db33e32218049a80e38d7b9f8a5;
# the job does not read it: under msrun a rank table must not be set.
# Logs go to hccl_logs/RUN/worker_N.log in the current folder, those of msrun beside them. The first rank of
# this host is shown. MASTER_PORT is kept where rank 0 runs and it is set, else a free port is taken.
# The first rank that fails ends the job, on all hosts: its traceback comes last on its own, its exit code
# (128 + signal) is the script's everywhere. Otherwise 0 is success, 2 could not start, 130 Ctrl-C,
# 143 SIGTERM, 129 SIGHUP, 137 the guard of the ranks was killed.
# Needs bash 4.3, coreutils, grep, iproute2, python 3.8 and util-linux.

case ${BASH_VERSION:-} in
    '' | [1-3].* | 4.[0-2].*) echo "error: this needs bash 4.3 or newer; start it with: bash $0" >&2; exit 2 ;;
esac
set +o posix # where sh is bash
set -euo pipefail

command=(python train.py --lr 0.1)
size=4
port_name=MASTER_PORT
server=${HCCL_KIT_SERVER:-}
# shellcheck disable=SC2016  # a program in Python
worker='"""msrun starts this as every worker, and as its scheduler. It notes who fails, in the order of failing, with the exit
code: msrun itself tells neither. So any command can be started, not only a script in Python.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys


def end_with_parent() -> None:
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
'

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

node=0 servers=(192.0.2.1) master=127.0.0.1
server_name=${servers[0]}
ranks=(0 1 2 3)
devices=(0 1 2 3)
visible=""

meet() { # what the ranks of one server agree on
    [[ -n $run ]] || printf -v run '%(%Y%m%d-%H%M%S)T-%s' -1 "$$"
    choose_port
}
tell() { :; }
judged() { :; }
link='' judged_rank='' judged_code='' judged_where=''

[[ -z $server || $server == "$server_name" ]] || die "error: the table has no server $server; it has $server_name"
find_python 6

# Nobody writes on descriptor 6, so no process is needed that could outlive the script.
idle() { # SECONDS
    read -r -t "$1" -u 6 || :
}

# Who ends says so on descriptor 8, in the order of ending: a pipe, since the disk may be full. A line is written at
# once; to wait for it by the time-out of read would cut it on a busy machine.
next_note() { # TWENTIETHS of a second to wait; sets kind, rank, code and where, the id of a server
    local i note
    for ((i = 0; ; i++)); do
        if read -r -t 0 -u 8 && IFS= read -r -u 8 note; then
            read -r kind rank code where <<<"$note"
            is_note && return
            kind='' rank='' code='' where=''
            printf 'error: unexpected message to the launch script: %.200q\n' "$note" >&2
        fi
        ((i < $1)) || return 1
        sleep 0.05
    done
}

# The shell evaluates what stands in ((...)), after -eq or in an index: a[$(id)] would run id, and 08 is an error. So
# text from elsewhere is a number of this form before it gets there.
whole='^(0|[1-9][0-9]{0,8})$'

is_note() { # that kind, rank, code and where are of the form and range that is used later
    case $kind in
        done) [[ -z $rank$code$where ]] ;;
        start) [[ $rank =~ ^[0-9]{1,20}(-[0-9]{1,20})+$ && $code =~ $whole && $code -le 65535 && -z $where ]] ;;
        over)
            is_failure && [[ $where =~ $whole && $where -lt ${#servers[@]} ]] || return 1
            where=${servers[where]} ;;
        rank | hang | gone | guard) [[ -z $where ]] && is_failure ;;
        *) return 1 ;;
    esac
}

is_failure() {
    [[ $rank =~ ^-[1-3]$ || $rank =~ $whole ]] && is_code "$code"
}

is_code() { # that a text is an exit code
    [[ $1 =~ $whole && $1 -le 255 ]]
}

is_running() { # PID
    kill -s 0 "$1" 2>/dev/null
}

hear_signals() {
    trap 'quit HUP 129' HUP
    trap 'quit INT 130' INT
    trap 'quit TERM 143' TERM
}

tell_guard() { # WORD
    (echo "$1" >&9) 2>/dev/null || { start_guard none && echo "$1" >&9; } # it was killed, and the pipe is broken
}

end_ranks() { # a signal meanwhile changes nothing but that there is no restart
    trap 'max_restarts=0' HUP INT TERM
    for _ in 1 2 3; do
        exec 9>&-
        while is_running "$guard"; do sleep 0.05; done
        if read -r -t 0 -u 5; then break; fi
        start_guard none # the other one was killed before it was done
    done
    guard='' # nobody is there to be told of a later signal
    hear_signals
}

quit() { # SIGNAL CODE: every process gets the signal that this script got
    trap '' HUP INT TERM
    tell "failed -2 $2 0"
    if [[ -n $guard ]]; then
        [[ $1 == TERM ]] || tell_guard "$1" # TERM is sent anyway
        end_ranks
    fi
    trap '' HUP INT TERM
    if [[ -n ${before_nap:-} && $! != "$before_nap" ]]; then # the pause before a restart leaves no sleep behind
        kill "$!" 2>/dev/null || :
        wait "$!" || :
    fi
    for _ in {1..20}; do # the link ends with this script, and has to tell the others first
        if ! { [[ -n $link ]] && kill -0 "$link"; } 2>/dev/null; then break; fi
        sleep 0.05
    done
    echo "ended by SIG$1${logs:+; logs in $logs}" >&2 || :
    exit "$2"
}

exec 6<> <(:) 8<> <(:)
guard='' run=''
hear_signals
meet
logs=$PWD/hccl_logs/$run.$node
if ! mkdir -p hccl_logs || ! mkdir -- "$logs"; then die "error: cannot make the log folder $logs"; fi

# Left over from other ways of starting, these would override what msrun sets.
unset -v MINDSPORE_HCCL_CONFIG_PATH ASCEND_RT_VISIBLE_DEVICES ASCEND_DEVICE_ID MS_ROLE MS_WORKER_NUM \
    MS_SCHED_HOST MS_SCHED_PORT MS_NODE_ID OMPI_COMMAND PMIX_RANK TORCHELASTIC_USE_AGENT_STORE RANK_ID \
    RANK RANK_SIZE WORLD_SIZE LOCAL_RANK DEVICE_NUM LOCAL_WORLD_SIZE DEVICE_ID RANK_TABLE_FILE \
    MASTER_ADDR MASTER_PORT HCCL_KIT_RUN_ID HCCL_KIT_RESTART HCCL_KIT_SERVER
[[ -z $visible ]] || export ASCEND_RT_VISIBLE_DEVICES="$visible" # msrun counts devices from 0 on
mark=HCCL_KIT_LOG_DIR=$logs # in the environment of msrun and of all that it starts, of nobody else

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
