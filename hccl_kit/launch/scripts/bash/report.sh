# Ends the job after a failure and reports the rank that failed first.
# Expects: ranks, devices, logs, server_name, lifeline, heartbeat, python. Needs note and the fragments of events and signals.

discard_events() { # of the ranks that were ended
    local kind rank code where
    while next_event 0; do :; done
}

# Finds the rank that wrote its error file first, and its traceback; prints nothing if there are no error files.
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
    text = text.rstrip()
    text = text if len(text) <= 16384 else "[...] " + text[-16384:]
    shown = "".join(c if c.isprintable() or c in "\t\n" else ascii(c)[1:-1] for c in text)
    sys.stdout.buffer.write(f"{rank}\n{shown}\n".encode("utf-8", "backslashreplace"))'

# True if the rank is shown, the report goes to the same place, and no other shown rank has written since.
ends_screen() { # RANK TEXT: whether the log of the rank is on the screen, with TEXT at its end
    local other log=$logs/rank_$1.log
    [[ -n $one_screen && -s $log && ($on_screen == all || $on_screen == first && $1 == 0) ]] || return 1
    [[ $(tail -c "$((4 * ${#2} + 8))" -- "$log") == *"$2" ]] || return 1
    [[ $on_screen == all ]] || return 0
    for other in "${ranks[@]}"; do [[ ! $logs/rank_$other.log -nt $log ]] || return 1; done
} 2>/dev/null

conclude() { # CODE: end the job and report what failed first; CODE counts if there is no event, as after a kill
    local kind=lost rank='' code=$1 where=''
    next_event 20 || :
    note "ending $kind ${rank:--1} $code" # whatever ends from now on, this script has ended
    [[ $kind != over || $rank != -1 ]] || note "lost $(with_ranks "$where")"
    case $kind in
        rank) send "failed $rank $code 0" ;;
        hang)
            write_to_guard '!USR1' # every rank writes the stacks of its threads into its log
            send "failed $rank $code 0"
            sleep 2 ;;
        over) ((code != 124)) || { write_to_guard '!USR1' && sleep 1; } ;;
        gone) send "failed -2 $code 0" ;;
        lost | guard) send "failed -3 $code 0" ;;
    esac
    end_ranks
    if [[ $kind == rank || $kind == hang ]] && ! wait_for_result 400; then
        kind=over rank=$result_rank code=$result_code where=$result_server
        [[ $rank != -1 ]] || note "lost $(with_ranks "$where")"
    fi
    # It was ended on purpose, here or on another server.
    if [[ $kind == gone || $kind == over && $rank == -2 ]]; then ended_by_user=1; fi
    case $kind in
        lost) echo && echo "error: a rank was lost, exit code $code; logs in $logs" ;;
        guard) echo && echo "error: the guard process was killed; the job ended with exit code $code; logs in $logs" ;;
        gone) echo && echo "ended: the script that started this one over ssh is gone; logs in $logs" ;;
        over)
            if [[ $where == "$server_name" ]]; then
                describe
            elif [[ -z $lifeline ]]; then # over ssh, the report of that server is on the same screen
                describe_other "$rank" "$code" "$where"
            fi ;;
        *) describe ;;
    esac
    return "$code"
}

describe() { # the failure of a rank of this server; sets rank and code to those of an earlier failure
    local error='' i device='' own_code step same=() is_hang=''
    ((code != 124 || heartbeat == 0)) || is_hang=1 # without a limit, 124 is what the rank itself returned
    if [[ $code -le 128 && -z $is_hang && -n $python ]]; then
        error=$("$python" -I -c "$first_error" "$logs" "${ranks[@]}") || :
    fi
    if [[ -n $error ]]; then
        rank=${error%%$'\n'*}
        own_code=$(sed -n "s/^$rank //p" "$logs/failed" 2>/dev/null) || :
        # A rank that fails first may exit later than another; if this script ended it, its own code does not count.
        if is_number "$own_code" 128; then code=$own_code; fi
    fi
    echo
    for i in "${!ranks[@]}"; do [[ ${ranks[i]} != "$rank" ]] || device=${devices[i]}; done
    if [[ -n $is_hang ]] && step=$(step_of "$rank"); then
        for i in "${ranks[@]}"; do [[ $(step_of "$i") != "$step" ]] || same+=("$i"); done
        if ((${#same[@]} > 1)); then
            printf -v i '%s, ' "${same[@]}"
            echo "error: ranks ${i%, } of $HOSTNAME took no step for $heartbeat s after step $step"
        else
            echo "error: rank $rank on device $device of $HOSTNAME took no step for $heartbeat s after step $step"
        fi
    else
        echo "error: rank $rank on device $device of $HOSTNAME failed with $(exit_status "$code")"
    fi
    if [[ ! -d $logs ]]; then
        echo "  the log folder was removed: $logs"
        return
    fi
    [[ -n $error ]] || (: >>"$logs/rank_$rank.log" && echo >"$logs/.full") 2>/dev/null ||
        echo "  the disk of the logs is full or cannot be written: $logs"
    show_end "$rank" "${error#"$rank"$'\n'}"
}

show_end() { # RANK TRACEBACK: the end of its output, unless it is on the screen already
    local log=$logs/rank_$1.log
    if ends_screen "$1" "$2"; then
        [[ -z $2 ]] || echo "  its traceback is above, and in $log"
        [[ -n $2 ]] || echo "  its last lines are above, and in $log"
    elif [[ -n $2 ]]; then
        echo "  its traceback, from $log:"
        echo "$2"
    else
        echo "  the end of $log:"
        last_lines 20 <"$log" || :
    fi
}
