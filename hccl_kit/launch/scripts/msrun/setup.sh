# Waits for the other servers and creates the log folder; sets run, port, logs and plogs.
# Expects: node. Needs the fragments of events, folders, plogs, signals and rendezvous.

exec 6<> <(:) 8<> <(:)
guard='' run=''
trust_folders
trap_signals
join_servers
[[ -n $run ]] || name_run
new_run "$run.$node"
logs=$PWD/hccl_logs/$run
make_plogs
