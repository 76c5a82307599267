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
