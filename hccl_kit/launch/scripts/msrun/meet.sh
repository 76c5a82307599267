exec 6<> <(:) 8<> <(:)
guard='' run=''
hear_signals
meet
logs=$PWD/hccl_logs/$run.$node
if ! mkdir -p hccl_logs || ! mkdir -- "$logs"; then die "error: cannot make the log folder $logs"; fi
