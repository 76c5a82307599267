# Lists the folders of the host that a container of the ranks has, under the same paths.
# Expects: hk_table. Needs hk_fail. For __mounts__ stand those of the user (SOURCE:TARGET[:FLAG]).

hk_mounts=(__mounts__)
[[ $PWD${hk_table%/*} != *[:,]* ]] || hk_fail "error: $PWD and ${hk_table%/*} cannot be mounted into a container" \
    '  fix: start the job, and keep the table, in folders without : and , in their paths'
hk_mounts+=("$PWD:$PWD")
[[ ${hk_table%/*} == "$PWD" ]] || hk_mounts+=("${hk_table%/*}:${hk_table%/*}")
