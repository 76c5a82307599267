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
