# Finds the table in the folder of the script and checks it.
# Expects: hk_table, its name, and hk_digest. Needs hk_fail.

hk_table=$(readlink -f -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/$hk_table")
[[ $(sha256sum <"$hk_table") == "$hk_digest "* ]] ||
    hk_fail "error: $hk_table is not the table of this script" '  fix: restore it, or run hccl-gen again'
