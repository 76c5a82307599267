# The watch: cuts logs that grow too large and detects ranks that make no progress. Also reads the steps of the ranks.
# Expects: ranks, logs, guard, heartbeat, log_limit.

# Ends when a rank makes no progress, or when the guard was killed and a new one is started. A log beyond the limit
# becomes rank_N.log.1; what a rank writes at that moment may be lost.
watch_ranks() {
    local size log rank step own_logs=("${ranks[@]/#/rank_}")
    own_logs=("${own_logs[@]/%/.log}")
    echo "watch $BASHPID" >&9 && exec 9>&- # the guard ends it too
    cd -- "$logs"
    while idle 1; do
        # It may have been stopped, and would not notice that the script is killed.
        kill -s CONT "$guard" || { start_guard none && return; }
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

step_of() { # RANK: print the last step that it has written; 1 if that is not a number
    local step file=$logs/step_$1
    [[ -f $file && -s $file ]] && read -r -n 20 step <"$file" && is_number "$step" || return 1
    echo "$step"
} 2>/dev/null

slowest_rank() { # print the first of those with the lowest step
    local rank step slowest=${ranks[0]} lowest=''
    for rank in "${ranks[@]}"; do
        step=$(step_of "$rank") || continue
        if [[ -z $lowest || $step -lt $lowest ]]; then slowest=$rank lowest=$step; fi
    done
    echo "$slowest"
}

furthest_step() { # print the highest step of this server; nothing if no rank counts its steps
    local rank step furthest=''
    for rank in "${ranks[@]}"; do
        step=$(step_of "$rank") || continue
        if [[ -z $furthest || $step -gt $furthest ]]; then furthest=$step; fi
    done
    echo "$furthest"
}
