# Ends the job and reports what failed first.
# Expects: ranks, devices, logs, msrun (its process id), server_name. Needs the fragments of events and signals.

read_failed() { # sets name and code, as the worker program has noted them
    local line own=(scheduler "${ranks[@]/#/worker_}")
    [[ -f $logs/failed ]] && read -r -n 80 line <"$logs/failed" || return 1
    for name in "${own[@]}"; do
        code=${line#"$name "}
        if [[ $line == "$name $code" ]] && is_number "$code" 255 && ((code > 0)); then return; fi
    done
    name='' code=0
    return 1
}

conclude() { # send the result of this server to the others, and agree with them on what failed first
    local timeout=-1
    if read_failed; then
        [[ $name != worker_* ]] || rank=${name#worker_}
    else # if msrun itself failed, there is no note
        wait "$msrun" || code=$?
    fi
    if ((code == 0)); then send 'done'; else send "failed $rank $code 0" && timeout=400; fi
    end_ranks
    wait_for_result "$timeout" || rank=$result_rank code=$result_code where=$result_server
}

# True if both go to the same place: the guard has shown the log to its end, and no line that is left out here follows.
ends_screen() { # LOG LINE
    [[ -n $one_screen && $on_screen == first && -n $2 && $(tail -c "$((4 * ${#2} + 8))" -- "$1") == *"$2" ]]
} 2>/dev/null

describe() { # the failure of the rank or scheduler `name`, or of msrun if it is empty
    local log=$logs/msrun.log what=$name end
    echo
    if [[ $name == guard ]]; then
        echo "error: the guard process was killed; the job ended with exit code $code; logs in $logs"
        return
    elif [[ -z $name ]]; then
        echo "error: msrun failed on $HOSTNAME with exit code $code"
    else
        [[ $name != worker_* ]] || what="rank $rank on device ${devices[rank - ranks[0]]}"
        echo "error: $what of $HOSTNAME failed with $(exit_status "$code")"
        log=$logs/$name.log
    fi
    # MindSpore goes on logging after the traceback of a program.
    end=$(tail -c 16777216 -- "$log" 2>/dev/null | grep -av '^\[\(INFO\|WARNING\)\] ' | last_lines 30) || :
    if [[ $name == "worker_${ranks[0]}" ]] && ends_screen "$log" "${end##*$'\n'}"; then
        echo "  its last lines are above, and in $log"
    else
        printf '%s\n' "  the end of $log, without INFO and WARNING lines:" "$end"
    fi
}
