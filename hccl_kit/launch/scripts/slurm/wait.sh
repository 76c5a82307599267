# Runs the ranks, and reports the first that failed.
# Expects: hk_step (srun and its options), hk_command, hk_logs, which has the program of a task.

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
