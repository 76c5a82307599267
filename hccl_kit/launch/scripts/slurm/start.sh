# Starts tasks with srun, and passes signals on to them.
# Expects: program, logs, table, step, mpi, limit_signal, port. Needs is_number.

# Every task runs this script again. Its text is passed in words, which Linux limits to 128 KiB each: a file, and
# whoever may write to it, would run on all nodes.
# shellcheck disable=SC2016  # for the shell of the task
start_task='count=$1
shift
source <(printf %s "${@:1:count}")
task "${@:count + 1}"'

pass_program() { # sets task_words, the first ones of a task; needs program, the text of this script
    local at piece=30000 text=${program%$'\n'*} # without its last line, which starts the job; a character has 4 bytes
    task_words=()
    for ((at = 0; at < ${#text}; at += piece)); do task_words+=("${text:at:piece}"); done
    task_words=(bash -c "$start_task" hccl_kit-task "${#task_words[@]}" "${task_words[@]}" "$logs")
}

run_tasks() { # ARGUMENT ...: returns the exit code of srun; sets ended to a signal that came meanwhile
    local code=0 screen nodes=${SLURM_JOB_NODELIST:-}
    # All variables are exported, whatever sbatch --export has. srun does not take --cpus-per-task from sbatch. With
    # WaitTime, it would end the job some seconds after the first rank that has finished.
    local options=("${step[@]}" --kill-on-bad-exit=1 --label --wait=0 --export=ALL --mpi="$mpi" --cpu-bind=none
        ${SLURM_CPUS_PER_TASK:+"--cpus-per-task=$SLURM_CPUS_PER_TASK"})
    echo "$(date '+%F %T') job $SLURM_JOB_ID on ${nodes//[[:cntrl:]]/?}, port $port, logs in $logs"
    pass_program
    srun "${options[@]}" "${task_words[@]}" "$table" "$@" &
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
