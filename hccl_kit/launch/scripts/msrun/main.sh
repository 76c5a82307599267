# Runs msrun and waits until it ends, a rank fails, or another server reports a failure.
# Expects: everything that the other fragments define.

log=$logs/worker_${ranks[0]}.log
: >"$log"
start_guard first
echo "ranks ${ranks[0]} to ${ranks[-1]} on devices ${devices[*]} of $HOSTNAME (server $server_name)," \
    "scheduler at $master:$port, logs in $logs"
# --tail_worker_log names a worker that does not exist: msrun leaves the programs that show workers running.
env "$mark" "${own_session[@]}" msrun --worker_num "$size" --local_worker_num "${#devices[@]}" \
    --master_addr "$master" --master_port "$port" --node_rank "$node" --join True --cluster_time_out 300 \
    --log_dir "$logs" --tail_worker_log "$size" python -I -c "$worker" "$logs" "${command[@]}" "$@" \
    >"$logs/msrun.log" 2>&1 5>&- 6>&- 7>&- 8>&- 9>&- &
msrun=$!
write_to_guard "msrun $msrun"
watch_guard >/dev/null 2>&1 &

kind='' name='' rank=-2 code=0 where=$server_name
while is_running "$msrun" && [[ ! -s $logs/failed && -z $kind ]]; do
    is_running "$guard" || kind=guard name=guard rank=-3 code=137
    next_event 1 || [[ -z $rendezvous ]] || is_running "$rendezvous" || next_event 1 ||
        kind=over rank=-1 code=255 where=${servers[0]}
done
case $kind in
    '') conclude ;;
    guard)
        send "failed $rank $code 0"
        end_ranks ;;
    *) end_ranks ;;
esac
if [[ $code != 0 && $where == "$server_name" && $rank != -1 ]]; then
    describe >&2
elif ((code != 0)); then
    describe_other "$rank" "$code" "$where" >&2
fi
[[ -z $rendezvous ]] || wait "$rendezvous" 2>/dev/null || :
[[ $where == "$server_name" || $rank != -2 ]] || ended_by_user=1 # on that server
((code == 0)) || diagnose "$logs" >&2
((code == 0)) || exit "$code"
