# Shows the output of the first rank here and waits for the ranks, of which the first that fails ends the job.
# Expects: hk_node, and by ranks: hk_pids, hk_running (a copy), hk_cards; hk_ranks, hk_logs. Needs hk_end.

tail -n +1 -F -s 0.1 --pid="${hk_pids[hk_ranks[0]]}" -- "$hk_logs/rank_${hk_ranks[0]}.log" 2>/dev/null &
hk_screen=("$!") # it ends after the rank
while ((hk_code == 0 && ${#hk_running[@]} > 0)); do
    sleep 0.1 # `wait -n` hangs now and then when two ranks end together
    for hk_rank in "${!hk_running[@]}"; do
        kill -0 "${hk_running[hk_rank]}" 2>/dev/null && continue
        wait "${hk_running[hk_rank]}" || { hk_code=$? hk_failed=$hk_rank && break; }
        kill -0 -- "-${hk_pids[hk_rank]}" 2>/dev/null || unset "hk_pids[hk_rank]" # another process may get its number
        unset "hk_running[hk_rank]"
    done
done
hk_end
[[ -n $hk_failed ]] || exit "$hk_code"
hk_log=$hk_logs/rank_$hk_failed.log hk_card=${hk_cards[hk_failed]}
printf '%(%s)T exited %s\n' -1 "$hk_failed $hk_code $hk_card $HOSTNAME" >>"$hk_logs/launcher_$hk_node" # for diagnose
((hk_code <= 128)) || hk_signal=" (SIG$(kill -l "$hk_code"))"
echo "error: rank $hk_failed on card $hk_card failed with exit code $hk_code$hk_signal; the end of $hk_log:" >&2
tail -c 16384 -- "$hk_log" | tail -n 20 >&2
exit "$hk_code"
