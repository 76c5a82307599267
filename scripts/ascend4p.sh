#!/usr/bin/env bash
# Starts ranks 0 to 3 on devices 4, 5, 6, 7 of this server. Written by hccl_kit.
#
#   bash ascend4p.sh [OPTION ...] [--] [ARGUMENT ...]     arguments are added to the command below
#
# --max-restarts N         start the ranks again when one fails, from their last checkpoint, N times at most
# --heartbeat-timeout S    end the job, the stacks of all ranks in the logs, when a rank takes no step for S
#                          seconds (a rank that counts its steps, as tools/train.py does)
# --prefix                 show every rank on the screen, with [host:rank] in front, not rank 0 alone
# --log-limit MIB          cut a log that grows beyond, 0 for never (default: 1024)
#
# The rank table beside this script is checked first. Logs go to hccl_logs/RUN/rank_N.log in the current
# folder, hccl_logs/latest is the last RUN. MASTER_PORT is kept where it is set, else a free port is taken.
# The first rank that fails ends the job: its last lines come last, its exit code (128 + signal) is the
# script's. Otherwise 0 is success, 2 could not start, 124 a rank stands still, 130 Ctrl-C, 143 SIGTERM,
# 129 SIGHUP, 137 a process of the script was killed. Nothing that a rank starts outlives the job, unless it
# was given another environment.
# Needs bash 4.3, coreutils, grep, sed and util-linux; a python, where there is one, tests the port.

case ${BASH_VERSION:-} in
    '' | [1-3].* | 4.[0-2].*) echo "error: this needs bash 4.3 or newer; start it with: bash $0" >&2; exit 2 ;;
esac
set +o posix # where sh is bash
set -euo pipefail

command=(python -u tools/train.py --config configs/rec/crnn/crnn_small.yaml)
table_name=hccl_4p_4567_127.0.0.1.json
table_sha256=89194f63a005ea103f7e3bfa7e227585d8e9f2f40b571f55cb818cf9d4b7e8d3
port_name=MASTER_PORT
server=${HCCL_KIT_SERVER:-}

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

node='' server_name=127.0.0.1 servers=(127.0.0.1) token=''
ranks=(0 1 2 3)
devices=(4 5 6 7) # of rank 0, 1, ...

meet() { # what the ranks of one server agree on
    [[ -n $run ]] || printf -v run '%(%Y%m%d-%H%M%S)T-%s' -1 "$$"
    choose_port
}
tell() { :; }
judged() { :; }
link='' judged_rank='' judged_code='' judged_where=''

[[ -z $server || $server == "$server_name" ]] || die "error: the table has no server $server; it has $server_name"
[[ -z $over_ssh ]] || die 'error: this job has one server; start the script there'
find_python 6

make_logs() {
    logs=$PWD/hccl_logs/$run
    ((attempt == 0)) || logs+=/restart_$attempt
    mkdir -p -- "$logs" || die "error: cannot make the log folder $logs"
    ln -sfn -- "$run" hccl_logs/latest 2>/dev/null || :
}

# Left over from other ways of starting, these would override what is set below.
earlier_restarts=${HCCL_KIT_RESTART:-0}
[[ $earlier_restarts =~ ^(0|[1-9][0-9]{0,5})$ ]] || earlier_restarts=0
unset -v MINDSPORE_HCCL_CONFIG_PATH ASCEND_RT_VISIBLE_DEVICES ASCEND_DEVICE_ID MS_ROLE MS_WORKER_NUM \
    MS_SCHED_HOST MS_SCHED_PORT MS_NODE_ID OMPI_COMMAND PMIX_RANK TORCHELASTIC_USE_AGENT_STORE \
    HCCL_KIT_RUN_ID HCCL_KIT_RESTART HCCL_KIT_SERVER

job_environment() {
    export DEVICE_NUM="${#ranks[@]}" LOCAL_WORLD_SIZE="${#ranks[@]}"
    export RANK_SIZE=4 WORLD_SIZE=4
    export RANK_TABLE_FILE="$table"
    export MASTER_ADDR=127.0.0.1
    export MASTER_PORT="$port"
    export HCCL_KIT_LOG_DIR="$logs"
    ((attempt + earlier_restarts == 0)) || export HCCL_KIT_RESTART=$((attempt + earlier_restarts))
    own_run=$run${node:+.$node}
    mark=HCCL_KIT_RUN_ID=$own_run # in the environment of the ranks and of all that they start, of nobody else
}

rank_environment() { # LOCAL_RANK
    export HCCL_KIT_RUN_ID="$own_run"
    export RANK_ID="${ranks[$1]}" RANK="${ranks[$1]}"
    export LOCAL_RANK="$1"
    export DEVICE_ID="${devices[$1]}"
}

# The guard shows ranks, and ends every rank once its pipe is closed: by this script, or by its death, whatever the
# cause. It has a session of its own, so that it outlives the script. It reads "RANK PID", names of signals to be sent
# at the end, and with a "!" in front signals to be sent now. The script and the watch look whether the guard is alive;
# one that takes the place of a dead one (SHOWN is none) finds the ranks by MARK.
guard() { # LOGS MARK SHOWN
    trap '' HUP INT TERM
    local rank pid path signal screens=() signals=(TERM KILL) ranks=()
    send() { # SIGNAL, once: to the group of every rank, or to the rank where it has no group of its own yet
        local pid failed=1
        for pid in "${ranks[@]}"; do
            if kill -s "$1" -- "-$pid" || kill -s "$1" -- "$pid"; then failed=0; fi
        done
        return "$failed"
    }
    while read -r rank pid; do
        if [[ $rank == '!'* ]]; then
            send "${rank#!}"
            continue
        elif [[ -z $pid ]]; then
            signals=("$rank" "${signals[@]}")
            continue
        fi
        ranks+=("$pid")
        log=$1/rank_$rank.log
        if [[ $rank == watch ]]; then
            continue
        elif [[ $3 == all ]]; then
            tail -n +1 -f -s 0.1 --pid="$pid" -- "$log" | sed -u "s/^/[${HOSTNAME//[^[:alnum:]._-]/}:$rank] /" &
            screens+=($!)
        elif [[ $rank == 0 ]]; then
            tail -n +1 -f -s 0.1 --pid="$pid" -- "$log" &
            screens+=($!)
        fi
    done
    for signal in "${signals[@]}"; do
        if [[ $signal == KILL || $3 == none ]]; then
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
    ! send 0 || kill -s KILL "${screens[@]}"
    wait "${screens[@]}"
    echo 'done' >&5
} 2>/dev/null

start_guard() { # SHOWN: first, all or none of the ranks; sets guard and on_screen
    on_screen=$1
    exec 5<> <(:)
    exec 9> >(exec setsid "$BASH" -c "$(declare -f guard); guard \"\$@\"" guard "$logs" "$mark" "$1")
    guard=$!
}

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

# Jobs of a script are born deaf to Ctrl-C. The env of coreutils 8.31 gives a rank its hearing back; where it is older,
# the guard's SIGTERM ends the rank.
own_session=(setsid)
if env --default-signal=INT true 2>/dev/null; then own_session=(env '--default-signal=INT,QUIT' setsid); fi
# Where all that looks after a rank is killed at once, the kernel ends the rank.
if setpriv --pdeathsig KILL true 2>/dev/null; then own_session=(setpriv --pdeathsig KILL -- "${own_session[@]}"); fi

# One rank, the leader of its process group. It is with the guard before it becomes the command, and keeps the pipe
# open until then, so the guard misses none. The log is added to, so that it can be cut while it grows.
run_rank() { # LOCAL_RANK COMMAND ...
    local rank=${ranks[$1]} code=0
    rank_environment "$1"
    shift
    (echo "$rank $BASHPID" >&9 && exec "${own_session[@]}" "$@" 5>&- 6>&- 7>&- 8>&- 9>&-) \
        >>"$logs/rank_$rank.log" 2>&1 &
    trap '' HUP TERM # a signal to all of us must not orphan the rank; the guard ends it
    exec 9>&-
    wait $! || code=$?
    if ((code != 0)); then
        echo "rank $rank $code" >&8
        echo "$rank $code" >>"$logs/failed" # for those who come later
    elif [[ -e $logs/step_$rank ]]; then
        : >"$logs/step_$rank" # it is done, and takes no more steps
    fi
    exit "$code"
}

# Ends where a rank stands still, or the guard was killed: then another one does its work. A log that has grown beyond
# the limit becomes rank_N.log.1; what a rank writes in that moment may be lost.
watch_ranks() {
    local size log rank step own_logs=("${ranks[@]/#/rank_}")
    own_logs=("${own_logs[@]/%/.log}")
    echo "watch $BASHPID" >&9 && exec 9>&- # the guard ends it too
    cd -- "$logs"
    while idle 1; do
        is_running "$guard" || { start_guard none && return; }
        while read -r size log; do # of files that this script named
            if ((size >> 20 >= log_limit && log_limit > 0)); then cp -- "$log" "$log.1" && : >"$log"; fi
        done < <(stat -c '%s %n' -- "${own_logs[@]}")
        if ((heartbeat == 0)) || ! touch -d "$heartbeat seconds ago" .still; then continue; fi
        for rank in "${ranks[@]}"; do
            step=step_$rank
            [[ -f $step && -s $step && ! $step -nt .still ]] || continue
            echo "hang $(slowest_rank) 124" >&8
            return 124
        done
    done
}

step_of() { # RANK: print the step that it has written last; 1 where it has written no number
    local step file=$logs/step_$1
    [[ -f $file && -s $file ]] && read -r -n 20 step <"$file" && [[ $step =~ ^(0|[1-9][0-9]{0,17})$ ]] || return 1
    echo "$step"
} 2>/dev/null

slowest_rank() { # the first of those with the lowest step
    local rank step slowest=${ranks[0]} lowest=''
    for rank in "${ranks[@]}"; do
        step=$(step_of "$rank") || continue
        if [[ -z $lowest || $step -lt $lowest ]]; then slowest=$rank lowest=$step; fi
    done
    echo "$slowest"
}

furthest_step() { # of the ranks of this server; nothing where none counts its steps
    local rank step furthest=''
    for rank in "${ranks[@]}"; do
        step=$(step_of "$rank") || continue
        if [[ -z $furthest || $step -gt $furthest ]]; then furthest=$step; fi
    done
    echo "$furthest"
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

forget_notes() { # of the ranks that were ended
    local kind rank code where
    while next_note 0; do :; done
}

# The rank that wrote its error down first, and its traceback; where a program writes none, there is none.
first_error='import json, os, sys
found = []
for rank in sys.argv[2:]:
    path = os.path.join(sys.argv[1], f"error_{rank}.json")
    try:
        if not os.path.isfile(path): continue
        with open(path, encoding="utf-8") as file: error = json.loads(file.read(1 << 20))
        found.append((float(error["time"]), rank, str(error["traceback"])))
    except (ArithmeticError, LookupError, OSError, RecursionError, TypeError, ValueError): pass
if found:
    _, rank, text = min(found)
    shown = "".join(c if c.isprintable() or c in "\t\n" else ascii(c)[1:-1] for c in text.rstrip())
    sys.stdout.buffer.write(f"{rank}\n{shown}\n".encode("utf-8", "backslashreplace"))'

# The screen has the end of a rank's log already where the rank is shown, the report goes to the same place, and no
# other shown rank has written since.
ends_screen() { # RANK TEXT: that the log of the rank is on the screen, and TEXT stands at its end
    local other log=$logs/rank_$1.log
    [[ -n $one_screen && -s $log && ($on_screen == all || $on_screen == first && $1 == 0) ]] || return 1
    [[ $(tail -c "$((4 * ${#2} + 8))" -- "$log") == *"$2" ]] || return 1
    [[ $on_screen == all ]] || return 0
    for other in "${ranks[@]}"; do [[ ! $logs/rank_$other.log -nt $log ]] || return 1; done
} 2>/dev/null

conclude() { # CODE: end the job and say who failed first; nobody noted it where a helper was killed, with CODE
    local kind=lost rank='' code=$1 where=''
    next_note 20 || :
    case $kind in
        rank) tell "failed $rank $code 0" ;;
        hang)
            tell_guard '!USR1' # every rank writes the stacks of its threads into its log
            tell "failed $rank $code 0"
            sleep 2 ;;
        over) ((code != 124)) || { tell_guard '!USR1' && sleep 1; } ;;
        gone) tell "failed -2 $code 0" ;;
        lost | guard) tell "failed -3 $code 0" ;;
    esac
    end_ranks
    if [[ $kind == rank || $kind == hang ]] && ! judged 400; then
        kind=over rank=$judged_rank code=$judged_code where=$judged_where
    fi
    # It was ended on purpose, here or on another server.
    if [[ $kind == gone || $kind == over && $rank == -2 ]]; then max_restarts=0; fi
    case $kind in
        lost) echo && echo "error: a rank was lost, exit code $code; logs in $logs" ;;
        guard)
            echo
            echo "error: the process that guards the ranks was killed, so the job was ended with exit code $code;" \
                "logs in $logs" ;;
        gone) echo && echo "ended: the script that started this one over ssh is gone; logs in $logs" ;;
        over)
            if [[ $where == "$server_name" ]]; then
                describe
            elif [[ -z $lifeline ]]; then # over ssh, all servers are on one screen, where it stands already
                describe_other "$rank" "$code" "$where"
            fi ;;
        *) describe ;;
    esac
    return "$code"
}

describe() { # of a rank of this server: what it said last; sets rank and code where another one failed before it
    local signal='' error='' i device='' own_code step
    if ((code <= 128 && code != 124)) && [[ -n $python ]]; then
        error=$("$python" -I -c "$first_error" "$logs" "${ranks[@]}") || :
    fi
    if [[ -n $error ]]; then
        rank=${error%%$'\n'*}
        own_code=$(sed -n "s/^$rank //p" "$logs/failed" 2>/dev/null) || :
        # It may be slower to end than the one whose end was seen; then it was ended by this script.
        if is_code "$own_code" && ((own_code <= 128)); then code=$own_code; fi
    fi
    echo
    for i in "${!ranks[@]}"; do [[ ${ranks[i]} != "$rank" ]] || device=${devices[i]}; done
    if ((code == 124)) && step=$(step_of "$rank"); then
        echo "error: rank $rank on device $device of $HOSTNAME took no step for $heartbeat s after step $step"
    else
        ((code <= 128)) || signal=$(kill -l "$code" 2>/dev/null) || :
        echo "error: rank $rank on device $device of $HOSTNAME failed with exit code $code${signal:+ (SIG$signal)}"
    fi
    if [[ ! -d $logs ]]; then
        echo "  the log folder was removed: $logs"
        return
    fi
    [[ -n $error ]] || (: >>"$logs/rank_$rank.log" && echo >"$logs/.full") 2>/dev/null ||
        echo "  the disk of the logs is full or cannot be written: $logs"
    show_end "$rank" "${error#"$rank"$'\n'}"
}

show_end() { # RANK TRACEBACK: what the rank said last, once on the screen
    local log=$logs/rank_$1.log
    if ends_screen "$1" "$2"; then
        [[ -z $2 ]] || echo "  its traceback is above, and in $log"
        [[ -n $2 ]] || echo "  its last lines are above, and in $log"
    elif [[ -n $2 ]]; then
        echo "  its traceback, from $log:"
        echo "$2"
    else
        echo "  the end of $log:"
        tail -n 20 -- "$log"
    fi
}

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
