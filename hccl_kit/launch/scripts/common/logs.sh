# Makes the folder of the logs of all runs. Needs hk_fail.

mkdir -p -m 700 hccl_logs
[[ -O hccl_logs || $(stat -c %u hccl_logs) == "$(stat -c %u .)" ]] &&
    [[ $(stat -c %A/ . hccl_logs) != *d???????w[!tT]/* ]] ||
    hk_fail "error: other users may replace the logs in $PWD/hccl_logs" '  fix: start in a folder of your own'
