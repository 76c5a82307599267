# Every task runs this script again, from its copy in the log folder.
# shellcheck disable=SC2016  # for the shell of the task
start_task='[[ -r $0 ]] || {
    echo "error: node $SLURMD_NODENAME does not see $0; start the job in a folder that all nodes share" >&2
    exit 2
}
exec bash -- "$0" "$@"'

job() { # ARGUMENT ...
    [[ -n ${SLURM_JOB_ID:-} ]] || die 'error: this is no job of Slurm' "  fix: sbatch $0"
    [[ ${SLURM_JOB_NUM_NODES:-} == "${#servers[@]}" ]] ||
        die "error: the job has ${SLURM_JOB_NUM_NODES:-0} nodes, the table has ${#servers[@]} servers" \
            "  fix: leave out --nodes, or ask for ${#servers[@]}"
    is_number "$SLURM_JOB_ID" || die "error: SLURM_JOB_ID is not a number: $(printf '%.80q' "$SLURM_JOB_ID")"
    find_table
    check_table die
    port=${!port_name:-$((20000 + SLURM_JOB_ID % 12000))} # from 32768 on the system hands ports out by itself
    [[ $port =~ ^[1-9][0-9]{0,4}$ && $port -le 65535 ]] ||
        die "error: $port_name=$port is no port, 1 to 65535" "  fix: unset $port_name, and the job's number makes one"
    restart=${SLURM_RESTART_COUNT:-0}
    is_number "$restart" || die "error: SLURM_RESTART_COUNT is not a number: $(printf '%.80q' "$restart")"
    logs=$PWD/hccl_logs/$run
    ((restart == 0)) || logs+=/restart_$restart
    { mkdir -p -- "$logs" && cp -- "${BASH_SOURCE[0]}" "$logs/job.sh" && : >>"$logs/rank_0.log"; } ||
        die "error: cannot write into the log folder $logs"
    rm -f -- "$logs"/{refused,failed} "$logs"/{node,end,error,step}_* # of an earlier start in the same allocation
    ln -sfn -- "$run" hccl_logs/latest 2>/dev/null || :
    job_environment
    run_tasks "$@"
}

run_tasks() { # ARGUMENT ...
    local code=0 ended='' srun screen
    # All is exported, whatever sbatch --export says. srun alone does not hear of --cpus-per-task. With WaitTime, it
    # would end the job some seconds after the first rank that is done.
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
    while kill -0 "$srun" 2>/dev/null; do # a signal ended the waiting
        code=0
        wait "$srun" || code=$?
    done
    wait "$screen" || :
    conclude "$code" "$ended"
}

# srun would kill the ranks; Slurm's own signal leaves them the time that is left.
# shellcheck disable=SC2329  # called by traps
pass_on() { # SIGNAL CODE
    local step=''
    ended="$1 $2"
    read -r _ step <"$logs/node_0" || :
    { is_number "$step" && scancel --signal="$1" "$SLURM_JOB_ID.$step"; } || kill -s TERM "$srun" || :
} 2>/dev/null
