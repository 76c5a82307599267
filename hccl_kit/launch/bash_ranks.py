"""The fixed text of the launch script that is about the ranks of this server: start, watch, end, and say why."""

GUARD = r"""
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
"""

NOTES = r"""
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
"""

RUN_RANK = r"""
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
"""

WATCH = r"""
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
"""

SIGNALS = r"""
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
"""

END = r"""
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
"""
