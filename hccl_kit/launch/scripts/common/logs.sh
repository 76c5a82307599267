# Makes the folder of the logs of all runs. Needs hk_fail.

mkdir -p -m 700 hccl_logs
[[ -O hccl_logs || $(stat -c %u hccl_logs) == "$(stat -c %u .)" ]] || hk_fail "error: another user owns $PWD/hccl_logs"
