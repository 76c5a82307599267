#!/usr/bin/env bash
# Starts ranks 0 to 3 on this host by msrun of MindSpore. Written by hccl_kit.
#
#   bash msrun4p.sh [ARGUMENT ...]      the arguments are added to the command below
#
# Made from the rank table with sha256 a7e38ab91eac686ea25677415fa0963182392db33e32218049a80e38d7b9f8a5;
# the job does not read it: under msrun a rank table must not be set.
# Logs go to hccl_logs/RUN/worker_N.log in the current folder, those of msrun beside them. The first rank of
# this host is shown. MASTER_PORT is kept where it is set, and must be the same on all hosts.
# The first rank that fails here ends the job here: its traceback comes last, its exit code (128 + signal) is
# the script's. Otherwise 0 is success, 2 could not start, 130 Ctrl-C, 143 SIGTERM, 129 SIGHUP.
# Needs bash 4.3, coreutils, grep, iproute2, python 3 and util-linux.

case ${BASH_VERSION:-} in
    '' | [1-3].* | 4.[0-2].*) echo "error: this needs bash 4.3 or newer; start it with: bash $0" >&2; exit 2 ;;
esac
set +o posix # where sh is bash
set -euo pipefail

command=(python train.py --lr 0.1)
size=4
master=127.0.0.1
server=${HCCL_KIT_SERVER:-}
# shellcheck disable=SC2016  # a program in Python
worker='import os, subprocess, sys

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
sys.exit(code)'

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

node=0 server_name=192.0.2.1
[[ -z $server || $server == "$server_name" ]] ||
    die "error: the table has no server $server; it has $server_name"

all_devices=(
    '0 1 2 3'
)
all_visible=(
    ""
)
read -ra devices <<<"${all_devices[node]}"
visible=${all_visible[node]}
first=$((node * ${#devices[@]}))

find_python() { # the one of the command, else the first on PATH; sets python, empty where there is none
    for python in "${command[0]}" python3 python ''; do
        if [[ ${python##*/} == python* ]] && "$python" -I -c '' 2>/dev/null; then break; fi
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

find_python
choose_port MASTER_PORT

printf -v run '%(%Y%m%d-%H%M%S)T-%s.%s' -1 "$$" "$node"
logs=$PWD/hccl_logs/$run
if ! mkdir -p hccl_logs || ! mkdir -- "$logs"; then die "error: cannot make the log folder $logs"; fi

# Left over from other ways of starting, these would override what msrun sets.
unset -v MINDSPORE_HCCL_CONFIG_PATH ASCEND_RT_VISIBLE_DEVICES ASCEND_DEVICE_ID MS_ROLE MS_WORKER_NUM \
    MS_SCHED_HOST MS_SCHED_PORT MS_NODE_ID OMPI_COMMAND PMIX_RANK TORCHELASTIC_USE_AGENT_STORE RANK_ID \
    RANK RANK_SIZE WORLD_SIZE LOCAL_RANK DEVICE_NUM LOCAL_WORLD_SIZE DEVICE_ID RANK_TABLE_FILE \
    MASTER_ADDR MASTER_PORT HCCL_KIT_RUN_ID HCCL_KIT_RESTART HCCL_KIT_SERVER
[[ -z $visible ]] || export ASCEND_RT_VISIBLE_DEVICES="$visible" # msrun counts devices from 0 on
mark=HCCL_KIT_LOG_DIR=$logs # in the environment of msrun and of all that it starts, of nobody else

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
