# Refuses what would go wrong silently, and makes the folder of the run.
# Expects: hk_table (a name in the folder of the script), hk_digest. Needs hk_fail.

hk_table=$(readlink -f -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/$hk_table")
[[ $(sha256sum <"$hk_table") == "$hk_digest "* ]] ||
    hk_fail "error: $hk_table is not the table of this script" '  fix: restore it, or run hccl-gen again'
mkdir -p -m 700 hccl_logs
if stat -c %A . hccl_logs | grep -q '^d.......w[^tT]' ||
    [[ ! -O hccl_logs && $(stat -c %u hccl_logs) != "$(stat -c %u .)" ]]; then
    hk_fail "error: other users may replace the logs in $PWD/hccl_logs" '  fix: start in a folder of your own'
fi
hk_run=$(mktemp -d "hccl_logs/$(date +%Y%m%d-%H%M%S)-XXXXXX") || hk_fail "error: cannot make a folder in $PWD/hccl_logs"
hk_logs=$PWD/$hk_run hk_run=${hk_run##*/}
[[ -e hccl_logs/latest && ! -L hccl_logs/latest ]] || ln -sfnT -- "$hk_run" hccl_logs/latest
