# Lists the folders of the host that a container of the ranks has, under the same paths.
# Expects: hk_mounts (SOURCE:TARGET[:FLAG]), hk_table. Needs hk_fail.

[[ $PWD${hk_table%/*} != *[:,]* ]] || hk_fail "error: $PWD and ${hk_table%/*} cannot be mounted into a container" \
    '  fix: start the job, and keep the table, in folders without : and , in their paths'
hk_mounts+=("$PWD:$PWD")
[[ ${hk_table%/*} == "$PWD" ]] || hk_mounts+=("${hk_table%/*}:${hk_table%/*}")
