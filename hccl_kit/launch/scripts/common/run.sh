# Makes the folder of the run: sets hk_logs, its path, and hk_run, its name.

hk_logs=$(mktemp -d "$PWD/hccl_logs/$(date +%Y%m%d-%H%M%S)-XXXXXX") || exit 2
hk_run=${hk_logs##*/}
[[ -e hccl_logs/latest && ! -L hccl_logs/latest ]] || ln -sfT -- "$hk_run" hccl_logs/latest
