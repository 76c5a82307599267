# Makes the folder of the run: sets hk_run, its name, and hk_logs. Needs hk_fail.

mkdir -p -m 700 hccl_logs
[[ -O hccl_logs || $(stat -c %u hccl_logs) == "$(stat -c %u .)" ]] &&
    [[ $(stat -c %A/ . hccl_logs) != *d???????w[!tT]/* ]] ||
    hk_fail "error: other users may replace the logs in $PWD/hccl_logs" '  fix: start in a folder of your own'
hk_run=$(mktemp -d "hccl_logs/$(date +%Y%m%d-%H%M%S)-XXXXXX") || hk_fail "error: cannot make a folder in $PWD/hccl_logs"
hk_logs=$PWD/$hk_run hk_run=${hk_run##*/}
[[ -e hccl_logs/latest && ! -L hccl_logs/latest ]] || ln -sfnT -- "$hk_run" hccl_logs/latest
