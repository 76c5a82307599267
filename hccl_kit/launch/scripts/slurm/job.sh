# The batch script: checks the job, then runs a task for every rank with srun.
# Expects: servers, tasks (of each node), run, port_name, first_port and ports. Needs job_environment.

# Every task runs this script again, from its copy in the log folder.
# shellcheck disable=SC2016  # for the shell of the task
start_task='[[ -r $0 ]] || {
    echo "error: node $SLURMD_NODENAME does not see $0; start the job in a folder that all nodes share" >&2
    exit 2
}
exec bash -- "$0" "$@"'

job() { # ARGUMENT ...
    [[ -n ${SLURM_JOB_ID:-} ]] || die 'error: not started by Slurm' "  fix: sbatch $0"
    [[ ${SLURM_JOB_NUM_NODES:-} == "${#servers[@]}" ]] ||
        die "error: the job has ${SLURM_JOB_NUM_NODES:-0} nodes, the table has ${#servers[@]} servers" \
            "  fix: leave out --nodes, or request ${#servers[@]}"
    is_number "$SLURM_JOB_ID" || die "error: SLURM_JOB_ID is not a number: $(printf '%.80q' "$SLURM_JOB_ID")"
    find_table
    check_table die
    port=${!port_name:-$((first_port + SLURM_JOB_ID % ports))}
    is_port "$port" || die "error: $port_name=$port is not a port number (1 to 65535)" \
        "  fix: unset $port_name to derive a port from the job's number"
    restart=${SLURM_RESTART_COUNT:-0}
    is_number "$restart" || die "error: SLURM_RESTART_COUNT is not a number: $(printf '%.80q' "$restart")"
    logs=$PWD/hccl_logs/$run
    ((restart == 0)) || logs+=/restart_$restart
    { mkdir -p -- "$logs" && cp -- "${BASH_SOURCE[0]}" "$logs/job.sh" && : >>"$logs/rank_0.log"; } ||
        die "error: cannot write to the log folder $logs"
    rm -f -- "$logs"/{refused,failed} "$logs"/{node,end,error,facts,step}_* # of an earlier start in the same allocation
    ln -sfn -- "$run" hccl_logs/latest 2>/dev/null || :
    job_environment
    run_tasks "$@"
}

run_tasks() { # ARGUMENT ...
    local code=0 ended='' srun screen
    # All variables are exported, whatever sbatch --export has. srun does not take --cpus-per-task from sbatch. With
    # WaitTime, it would end the job some seconds after the first rank that has finished.
    local options=(--ntasks=$((${#servers[@]} * tasks)) --ntasks-per-node="$tasks" --kill-on-bad-exit=1 --label --wait=0
        --export=ALL --mpi=none --cpu-bind=none ${SLURM_CPUS_PER_TASK:+"--cpus-per-task=$SLURM_CPUS_PER_TASK"})
    echo "$(date '+%F %T') job $SLURM_JOB_ID on ${SLURM_JOB_NODELIST:-}, port $port, logs in $logs"
    srun "${options[@]}" bash -c "$start_task" "$logs/job.sh" "$table" "$@" &
    srun=$!
    trap 'pass_on HUP 129' HUP
    trap 'pass_on INT 130' INT
    trap 'pass_on TERM 143' TERM
    (trap '' HUP INT TERM && exec tail -n +1 -f -s 0.2 --pid="$srun" -- "$logs/rank_0.log") &
    screen=$!
    wait "$srun" || code=$?
    while kill -0 "$srun" 2>/dev/null; do # a signal interrupted the wait
        code=0
        wait "$srun" || code=$?
    done
    wait "$screen" || :
    conclude "$code" "$ended"
}

# srun would kill the ranks at once; with Slurm's own signal they have the time that is left.
# shellcheck disable=SC2329  # called by traps
pass_on() { # SIGNAL CODE
    local step=''
    ended="$1 $2"
    read -r _ step <"$logs/node_0" || :
    { is_number "$step" && scancel --signal="$1" "$SLURM_JOB_ID.$step"; } || kill -s TERM "$srun" || :
} 2>/dev/null
