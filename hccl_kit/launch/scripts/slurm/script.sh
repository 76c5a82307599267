# The batch script after its directives. Slurm allocates nodes in any order, so a task finds the ranks of its node itself.
# A word __NAME__ stands for a text, on a line of its own for lines.

# Starts ranks 0 to __last__ on __nodes__. It is meant to be read and edited.
#   sbatch [--cpus-per-task=24] __name__ [ARGUMENT ...]     arguments are added to the command
# Rank N writes hccl_logs/slurm-JOB/rank_N.log in the current folder, which all nodes share. The first rank
# that fails ends the job, which has its exit code (128 + signal). 0: success, 2: nothing started.
__about_kit__
# shellcheck disable=SC2329 # functions that srun and traps call
[ "${BASH_VERSINFO:-0}" -ge 4 ] || { echo "error: start it with: sbatch $0" >&2; exit 2; } # bash 4.3
hk_fail() { # srun may drop what a task prints at its very end
    [[ ${SLURM_LOCALID:-0} != 0 ]] || printf '%s\n' "${@//[[:cntrl:]]/?}" >&2
    sleep 1; exit 2
}
[[ "${SLURM_JOB_ID:-} ${SLURM_RESTART_COUNT:-0}" =~ ^[1-9][0-9]{0,9}\ (0|[1-9][0-9]{0,5})$ ]] ||
    hk_fail 'error: not started by Slurm' "  fix: sbatch $0"
hk_script=$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%o) # Slurm runs a copy of it
for hk_folder in "${hk_script%%/__name__*}" "$(dirname -- "$0")" "${SLURM_SUBMIT_DIR:-.}"; do
    [[ ! -f $hk_folder/__table__ ]] || break
done
hk_table=$(readlink -f -- "$hk_folder"/__table__)
__checked_table__
hk_command=(__command__ "$@")
unset -v HCCL_KIT_RESTART
[[ -z ${SLURM_RESTART_COUNT:-} ]] || export HCCL_KIT_RESTART=$SLURM_RESTART_COUNT
__variables__
__kit__
__log_folder__
hk_run=slurm-${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}
[[ -n ${SLURM_RESTART_COUNT:-} ]] || mkdir -m 700 "hccl_logs/$hk_run" 2>/dev/null || # an earlier start has it
    hk_run=$(cd hccl_logs && mktemp -d "$hk_run-XXXXXX") || exit 2
hk_logs=$PWD/hccl_logs/$hk_run${SLURM_RESTART_COUNT:+/restart_$SLURM_RESTART_COUNT}
mkdir -p -- "$hk_logs"
[[ -e hccl_logs/latest && ! -L hccl_logs/latest ]] || ln -sfT -- "$hk_run" hccl_logs/latest
__cards__
__environment__
__steps__
__container__
hk_task() { # COMMAND ... of a rank; with bash -C, a second node of a server overwrites no log
    HOSTNAME=$(uname -n) # srun has passed on that of the first node, and what other launchers have left
    __matched__
    __asked__
    ((SLURM_LOCALID < ${#hk_cards[@]})) || exit 0 # another node has more cards
    hk_ranks=("${!hk_cards[@]}") hk_size=${#hk_cards[@]} hk_rank=${hk_ranks[SLURM_LOCALID]} hk_card=${hk_cards[hk_rank]}
    [[ -r $RANK_TABLE_FILE ]] || hk_fail "error: $HOSTNAME does not see $RANK_TABLE_FILE"
    __checked_task__
    __of_rank__
    export ASCEND_PROCESS_LOG_PATH="${ASCEND_PROCESS_LOG_PATH:-$HCCL_KIT_LOG_DIR/plog/$SLURMD_NODENAME}" # logs of CANN
    export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$((SLURM_CPUS_ON_NODE > hk_size ? SLURM_CPUS_ON_NODE / hk_size : 1))}"
    exec >"$HCCL_KIT_LOG_DIR/rank_$hk_rank.log" || hk_fail "error: $HOSTNAME is a second node of server $hk_node"
    echo "$hk_rank $hk_card $HOSTNAME" >"$HCCL_KIT_LOG_DIR/task_$SLURM_PROCID" # which rank the task is
    # Here is the place for numactl. Slurm may signal the process of the task only: the rank takes its place.
    exec "$@" 2>&1
}
{ declare -f hk_fail hk_task && echo "hk_task \"\$@\""; } >"$hk_logs/task" || exit 2
__hosts__
hk_end() { hk_ended=$1 && scancel --signal="$1" "$SLURM_JOB_ID"; } # SIGNAL, to all ranks
__traps__
echo "job $SLURM_JOB_ID on $SLURM_JOB_NODELIST, port $MASTER_PORT, logs in $hk_logs"
"${hk_step[@]}" bash -C "$hk_logs/task" "${hk_command[@]}" 2>"$hk_logs/srun" &
hk_pid=$!
(trap '' HUP INT TERM USR1 USR2 && exec tail -q -n +1 -F --pid="$hk_pid" -- "$hk_logs/"{rank_0.log,srun} 2>/dev/null) &
while kill -0 "$hk_pid" 2>/dev/null; do sleep 0.2; done
wait "$!" "$hk_pid" # the screen, and srun
hk_code=$? hk_signal=''
hk_first=$(grep -m 1 '^srun: error: .*: task' "$hk_logs/srun")
case $hk_first in # srun's own code is the highest, also of those that it has ended
    *' exit code '*) [[ ${hk_first##* } =~ ^[1-9][0-9]{0,2}$ ]] && hk_code=${hk_first##* } ;;
    *Killed*) hk_code=137 ;; *Segmentation*) hk_code=139 ;; *Aborted*) hk_code=134 ;;
esac
if [[ -n $hk_ended ]]; then
    echo "ended by SIG$hk_ended; logs in $hk_logs" >&2
    hk_code=$((128 + $(kill -l "$hk_ended")))
elif [[ $hk_first =~ tasks?\ ([0-9]+) ]] &&
    read -r hk_rank hk_card hk_host 2>/dev/null <"$hk_logs/task_${BASH_REMATCH[1]}"; then
    printf '%(%s)T exited %s\n' -1 "$hk_rank $hk_code $hk_card $hk_host" >>"$hk_logs/launcher_0" # for hccl-kit diagnose
    ((hk_code <= 128)) || hk_signal=" (SIG$(kill -l "$hk_code"))"
    echo "error: rank $hk_rank on device $hk_card of $hk_host failed with exit code $hk_code$hk_signal" >&2
    echo "  the end of $hk_logs/rank_$hk_rank.log:" >&2
    tail -c 16384 -- "$hk_logs/rank_$hk_rank.log" | tail -n 20 >&2
fi
__requeue__
exit "$hk_code"
