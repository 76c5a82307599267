# Finds the table and makes the folder of the run.
# Expects: hk_table (a name in the folder of the script), hk_digest. Needs hk_fail.

hk_table=$(readlink -f -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/$hk_table")
[[ $(sha256sum <"$hk_table") == "$hk_digest "* ]] ||
    hk_fail "error: $hk_table is not the table that this script was written for" '  fix: restore it, or run hccl-gen again'
[[ ${hk_table%%.json*}.json == "$hk_table" ]] || hk_fail "error: HCCL reads $hk_table only up to its first .json"
hk_run=$(date +%Y%m%d-%H%M%S)-$$
hk_logs=$PWD/hccl_logs/$hk_run
mkdir -p -m 700 hccl_logs && [[ $(stat -c %A . hccl_logs) != *????????w[!tT]* ]] &&
    [[ -O hccl_logs || $(stat -c %u hccl_logs) == "$(stat -c %u .)" ]] ||
    hk_fail "error: other users may replace the logs in $PWD/hccl_logs" '  fix: start in a folder of your own'
mkdir -m 700 -- "$hk_logs" || hk_fail "error: cannot make the folder $hk_logs"
ln -sfnT -- "$hk_run" hccl_logs/latest
