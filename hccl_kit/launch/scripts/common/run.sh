# Makes the folder of the run: sets hk_run, its name, and hk_logs. Needs hk_fail.

hk_run=$(mktemp -d "hccl_logs/$(date +%Y%m%d-%H%M%S)-XXXXXX") || hk_fail "error: cannot make a folder in $PWD/hccl_logs"
hk_logs=$PWD/$hk_run hk_run=${hk_run##*/}
[[ -e hccl_logs/latest && ! -L hccl_logs/latest ]] || ln -sfnT -- "$hk_run" hccl_logs/latest
