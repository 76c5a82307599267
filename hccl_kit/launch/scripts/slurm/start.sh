# Starts tasks with srun, and passes signals on to them.
# Expects: logs, table, step, mpi, limit_signal, port. Needs is_number.

# Every task runs this script again, from its copy in the log folder.
# shellcheck disable=SC2016  # for the shell of the task
start_task='[[ -r $0 ]] || {
    echo "error: node $SLURMD_NODENAME does not see $0; start the job in a folder that all nodes share" >&2
    exit 2
}
exec bash -- "$0" "$@"'

run_tasks() { # ARGUMENT ...: returns the exit code of srun; sets ended to a signal that came meanwhile
    local code=0 screen nodes=${SLURM_JOB_NODELIST:-}
    # All variables are exported, whatever sbatch --export has. srun does not take --cpus-per-task from sbatch. With
    # WaitTime, it would end the job some seconds after the first rank that has finished.
    local options=("${step[@]}" --kill-on-bad-exit=1 --label --wait=0 --export=ALL --mpi="$mpi" --cpu-bind=none
        ${SLURM_CPUS_PER_TASK:+"--cpus-per-task=$SLURM_CPUS_PER_TASK"})
    echo "$(date '+%F %T') job $SLURM_JOB_ID on ${nodes//[[:cntrl:]]/?}, port $port, logs in $logs"
    srun "${options[@]}" bash -c "$start_task" "$logs/job.sh" "$table" "$@" &
    srun=$!
    trap 'pass_on HUP' HUP
    trap 'pass_on INT' INT
    trap 'pass_on TERM' TERM
    trap 'pass_on USR1' USR1
    trap 'pass_on USR2' USR2
    (trap '' HUP INT TERM USR1 USR2 && exec tail -n +1 -f -s 0.2 --pid="$srun" -- "$logs/rank_0.log") &
    screen=$!
    wait "$srun" || code=$?
    while kill -0 "$srun" 2>/dev/null; do # a signal interrupted the wait
        code=0
        wait "$srun" || code=$?
    done
    srun=''
    wait "$screen" || :
    return "$code"
}

# srun would kill the ranks at once; with Slurm's own signal they have the time that is left. SIGUSR1 alone ends nothing:
# ranks write their stacks.
# shellcheck disable=SC2329  # called by traps
pass_on() { # SIGNAL
    local number=''
    [[ $1 == USR1 && $limit_signal != USR1 ]] || ended=$1
    [[ -n $srun ]] || return 0
    read -r _ number <"$logs/node_0" || :
    { is_number "$number" && scancel --signal="$1" "$SLURM_JOB_ID.$number"; } || kill -s TERM "$srun" || :
} 2>/dev/null
