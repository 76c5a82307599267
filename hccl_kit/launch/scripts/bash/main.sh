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
