# Starts the ranks of this server, and starts them again after a failure.
# Expects: everything that the other fragments define, and threads. Needs job_environment.

run_ranks() { # ARGUMENT ...: run the ranks of this server, and return the exit code of the job
    local i jobs=() code=0
    start_guard "$shown"
    echo "ranks ${ranks[0]} to ${ranks[-1]} on devices ${devices[*]} of $HOSTNAME," \
        "port $port${threads:+, $threads}, logs in $logs"
    for i in "${!ranks[@]}"; do
        run_rank "$i" "${command[@]}" "$@" 2>/dev/null &
        jobs+=($!)
    done
    watch_ranks >/dev/null 2>&1 &
    jobs+=($!)
    wait_for_ranks "${jobs[@]}" ${rendezvous:+"$rendezvous"} ${lifeline:+"$lifeline"} || code=$?
    if ((code == 0)); then
        end_ranks
        send 'done'
        if ! wait_for_result; then # another server failed
            code=$result_code
            [[ $result_rank != -1 ]] || note "lost $(with_ranks "$result_server")"
            ((result_rank != -2)) || ended_by_user=1
            [[ -n $lifeline ]] || describe_other "$result_rank" "$code" "$result_server" >&2
        fi
    else
        conclude "$code" >&2 || code=$?
    fi
    [[ -z $rendezvous ]] || jobs+=("$rendezvous")
    wait "${jobs[@]}" 2>/dev/null || : # or their events would reach the next start
    discard_events
    return "$code"
}

# Not with `wait -n`: bash 5.2 blocks if the last job ends at the moment of the call (measured: in one of 700 jobs whose
# two ranks end together), and from bash 5.3 on it also returns for process substitutions.
wait_for_ranks() { # PID ...: of the ranks, then of their helpers. Returns 0 when all ranks have succeeded; otherwise
    # as soon as one process fails, the guard is killed, or an event ends the job
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
        if read -r -t 0 -u 8; then return 1; fi # an event that ends the job
        idle 0.1
    done
}

# A job that could not start (2) would fail again. Without its starter, a job over ssh has no user.
may_restart() { # CODE
    ((attempt - first_attempt < max_restarts && $1 != 2)) && [[ -z $ended_by_user ]] || return 1
    [[ -z $lifeline ]] || kill -0 "$lifeline" 2>/dev/null
}

give_up() { # CODE
    # Over ssh, the starter has the logs of all servers.
    [[ -n $lifeline ]] || diagnose "$logs" >&2
    exit "$1"
}

# Ranks take their steps together, so only the first server compares, and all servers do the same.
is_stuck() { # STEP: the last one of the ranks of this server, empty if they count none
    ((node == 0)) && [[ -n $last_step && ${1:-0} -le $last_step ]] || return 1
    echo "giving up after restart $attempt: no progress (step ${1:-0}, previously step $last_step)" >&2
}

exec 6<> <(:) 8<> <(:)
trap_signals
attempt=$first_attempt last_step='' last_code='' gives_up='' guard=''
[[ -z $lifeline ]] || take_lifeline
[[ -z $preflight ]] || preflight_server
while :; do
    join_servers
    ((port > 0)) || exit "${last_code:-2}" # the first server gave up
    make_logs
    job_environment
    code=0
    run_ranks "$@" || code=$?
    ((code != 0)) || exit 0
    may_restart "$code" || give_up "$code"
    step=$(furthest_step)
    if is_stuck "$step"; then
        [[ -n $rendezvous$token ]] || give_up "$code"
        gives_up=1 # the other servers hear of it when they join for the restart
    fi
    last_step=$step last_code=$code
    attempt=$((attempt + 1))
    restart=$((attempt - first_attempt))
    pause=$((restart < 6 ? 2 ** (restart - 1) : 30))
    [[ -n $gives_up ]] || echo "restart $restart of $max_restarts in $pause s" >&2
    before_pause=$!
    sleep "$pause" >/dev/null 2>&1 7>&- &
    wait $! || :
    before_pause=''
done
