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
