# What follows a failure: another start in the same allocation, or in another one if the time is nearly over.
# Expects: run, max_restarts, limit_signal, all_ranks. Needs diagnose, is_number and die.

last_step='' # that the ranks had reached when they were started last
srun=''

count_starts() { # sets restart: how often the job was started before, by Slurm and by this script
    local last=''
    restart=${SLURM_RESTART_COUNT:-0}
    is_number "$restart" 999999 || die "error: SLURM_RESTART_COUNT is not a number: $(printf '%.80q' "$restart")"
    ((restart > 0)) || return 0
    find_run
    { read -r -n 7 last <"hccl_logs/$run/restarts"; } 2>/dev/null || :
    if is_number "$last" 999999 && ((last >= restart)); then restart=$((last + 1)); fi
}

find_run() { # sets run to the folder of the start before: the last one of that name
    local number=2 name=$run
    while [[ -d hccl_logs/$name-$number ]]; do
        run=$name-$number
        number=$((number + 1))
    done
}

# A job that could not start (2) would fail again.
starts_again() { # CODE: whether the ranks start again here. It does not return if the job is queued again
    local step pause
    ((restart < max_restarts && $1 != 2)) || return 1
    if [[ -n $ended ]]; then
        [[ $ended == "$limit_signal" ]] || return 1
        queue_again "$1"
    fi
    step=$(furthest_step)
    if [[ -n $last_step && ${step:-0} -le $last_step ]]; then
        echo "giving up after restart $restart: no progress (step ${step:-0}, previously step $last_step)" >&2
        return 1
    fi
    last_step=$step
    restart=$((restart + 1))
    pause=$((restart < 6 ? 2 ** (restart - 1) : 30))
    echo "restart $restart of $max_restarts in $pause s" >&2
    sleep "$pause" &
    wait $! || :
    [[ -z $ended ]] # a signal came meanwhile
}

queue_again() { # CODE
    scontrol requeue "$SLURM_JOB_ID" ||
        die "error: restart $((restart + 1)) of $max_restarts is not queued, see the message above" \
            "  fix: sbatch $0 again; the ranks continue from their checkpoint if they are told to"
    echo "queued again for restart $((restart + 1)) of $max_restarts" >&2
    exit "$1"
}

give_up() { # CODE
    [[ -n $ended || $1 == 2 ]] || diagnose "$logs" >&2
    exit "$1"
}

step_of() { # RANK: print the last step that it has written; 1 if that is not a number
    local step file=$logs/step_$1
    [[ -f $file && -s $file ]] && read -r -n 20 step <"$file" && is_number "$step" || return 1
    echo "$step"
} 2>/dev/null

furthest_step() { # print the highest step of a rank; nothing if none counts its steps
    local own rank step furthest=''
    for own in "${all_ranks[@]}"; do
        for rank in $own; do
            step=$(step_of "$rank") || continue
            if [[ -z $furthest || $step -gt $furthest ]]; then furthest=$step; fi
        done
    done
    echo "$furthest"
}
