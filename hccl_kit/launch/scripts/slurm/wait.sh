# Runs the ranks, and reports the first that failed.
# Expects: hk_srun, hk_step, hk_command, hk_logs. Needs hk_task.

hk_said=$(mktemp)
trap 'rm -f -- "$hk_said"' EXIT
echo "job $SLURM_JOB_ID on $SLURM_JOB_NODELIST, port $MASTER_PORT, logs in $hk_logs"
: >>"$hk_logs/rank_0.log"
"${hk_srun[@]}" "${hk_step[@]}" bash -c "$(declare -f hk_fail hk_task); hk_task \"\$@\"" hk_task "${hk_command[@]}" \
    2>"$hk_said" &
hk_pid=$!
(trap '' HUP INT TERM USR1 USR2 && exec tail -q -n +1 -f -s 0.2 --pid="$hk_pid" -- "$hk_logs/rank_0.log" "$hk_said") &
hk_screen=$!
while kill -0 "$hk_pid" 2>/dev/null; do wait "$hk_pid"; done # a signal interrupts it
wait "$hk_pid"
hk_code=$?
wait "$hk_screen"
hk_first='tasks? ([0-9]+)[^:]*: (Exited with exit code )?(.*)' # what srun says of the first task that fails
if [[ -n $hk_ended ]]; then
    echo "ended by SIG$hk_ended; logs in $hk_logs" >&2
    hk_code=$((128 + $(kill -l "$hk_ended")))
elif [[ $(grep -m 1 '^srun: error: .*: task' "$hk_said") =~ $hk_first ]] &&
    read -r hk_rank hk_card hk_host <"$hk_logs/task_${BASH_REMATCH[1]}"; then
    case ${BASH_REMATCH[3]} in # srun's own code is the highest, also of those that it has ended
        [0-9]*) hk_code=${BASH_REMATCH[3]} ;;
        Killed*) hk_code=137 ;;
        Segmentation*) hk_code=139 ;;
        Aborted*) hk_code=134 ;;
    esac
    printf '%(%s)T exited %s\n' -1 "$hk_rank $hk_code $hk_card $hk_host" >>"$hk_logs/launcher_0" # for hccl-kit diagnose
    ((hk_code <= 128)) || hk_killed=" (SIG$(kill -l "$hk_code"))"
    echo "error: rank $hk_rank on device $hk_card of $hk_host failed with exit code $hk_code${hk_killed:-}" >&2
    echo "  the end of $hk_logs/rank_$hk_rank.log:" >&2
    tail -c 16384 -- "$hk_logs/rank_$hk_rank.log" | tail -n 20 >&2
fi
