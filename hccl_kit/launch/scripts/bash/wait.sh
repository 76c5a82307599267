# Shows the output of the first rank here and waits for the ranks, of which the first that fails ends the job.
# Expects: hk_node, and by ranks: hk_pids, hk_running (a copy), hk_cards; hk_ranks, hk_logs. Needs hk_end.

hk_log=$hk_logs/rank_${hk_ranks[0]}.log && : >>"$hk_log" # the rank may not have begun
tail -n +1 -f -s 0.1 --pid="${hk_pids[hk_ranks[0]]}" -- "$hk_log" &
hk_screen=$! hk_code=0 && disown "$!" 2>/dev/null # it ends after the rank
hk_finish() { hk_end; timeout 2 tail -f -s 0.1 --pid="$hk_screen" /dev/null; } && trap hk_finish EXIT
while ((hk_code == 0 && ${#hk_running[@]} > 0)); do
    sleep 0.1 # `wait -n` hangs now and then when two ranks end together
    hk_alive=" $(jobs -pr | tr '\n' ' ')"
    for hk_rank in "${!hk_running[@]}"; do
        [[ $hk_alive != *" ${hk_running[hk_rank]} "* ]] || continue
        wait "${hk_running[hk_rank]}" || { hk_code=$? && break; }
        unset "hk_running[hk_rank]"
        kill -0 -- "-${hk_pids[hk_rank]}" 2>/dev/null || unset "hk_pids[hk_rank]" # a stranger may get its number
    done
done
hk_finish; ((hk_code > 0)) || exit 0
hk_log=$hk_logs/rank_$hk_rank.log hk_card=${hk_cards[hk_rank]}
printf '%(%s)T exited %s\n' -1 "$hk_rank $hk_code $hk_card $HOSTNAME" >>"$hk_logs/launcher_$hk_node" # for diagnose
hk_by="" && ((hk_code <= 128)) || hk_by=" (SIG$(kill -l "$hk_code"))"
echo "error: rank $hk_rank on card $hk_card failed with exit code $hk_code$hk_by; the end of $hk_log:" >&2
tail -c 16384 -- "$hk_log" | tail -n 20 >&2
exit "$hk_code"
