# Waits for the other servers and creates the log folder; sets run, port, logs and plogs.
# Expects: node. Needs the fragments of events, plogs, signals and rendezvous.

exec 6<> <(:) 8<> <(:)
guard='' run=''
trap_signals
join_servers
logs=$PWD/hccl_logs/$run.$node
if ! mkdir -p hccl_logs || ! mkdir -- "$logs"; then die "error: cannot create the log folder $logs"; fi
make_plogs
