# Waits for the ranks, and reports the first that failed.
# Expects: hk_srun, hk_step, hk_command, hk_logs. Needs hk_task.

echo "job $SLURM_JOB_ID on $SLURM_JOB_NODELIST, port $MASTER_PORT, logs in $hk_logs"
"${hk_srun[@]}" "${hk_step[@]}" bash -c "$(declare -f hk_fail hk_task); hk_task \"\$@\"" hk_task "${hk_command[@]}" &
hk_pid=$! hk_ended=''
: >>"$hk_logs/rank_0.log"
(trap '' HUP INT TERM USR1 USR2 && exec tail -n +1 -f -s 0.2 --pid="$hk_pid" -- "$hk_logs/rank_0.log") &
hk_screen=$!
while kill -0 "$hk_pid" 2>/dev/null; do wait "$hk_pid"; done # a signal interrupts it
wait "$hk_pid"
hk_code=$?
wait "$hk_screen"
if [[ -n $hk_ended ]]; then
    echo "ended by SIG$hk_ended; logs in $hk_logs"
    hk_code=$((128 + $(kill -l "$hk_ended")))
elif [[ -s $hk_logs/launcher_0 ]]; then
    read -r _ _ hk_rank hk_code hk_card hk_host <"$hk_logs/launcher_0"
    ((hk_code <= 128)) || hk_killed=" (SIG$(kill -l "$hk_code"))"
    echo "error: rank $hk_rank on device $hk_card of $hk_host failed with exit code $hk_code${hk_killed:-}"
    echo "  the end of $hk_logs/rank_$hk_rank.log:"
    tail -c 16384 -- "$hk_logs/rank_$hk_rank.log" | tail -n 20
fi >&2
