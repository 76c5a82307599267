# The folders of the host that a container of the ranks has, under the same paths.
# Expects: given_mounts (SOURCE:TARGET[:FLAG]), table.

check_mounts() { # ends the script if a folder cannot be named in a list of mounts
    local folder
    for folder in "$PWD" "${table%/*}"; do
        [[ $folder != *[:,]* ]] || die "error: the folder $folder cannot be mounted into a container" \
            '  fix: start the job, and keep the table, in a folder without : and , in its path'
    done
}

list_mounts() { # sets mounts
    mounts=("$PWD:$PWD" "${given_mounts[@]}")
    [[ ${table%/*} == "$PWD" ]] || mounts+=("${table%/*}:${table%/*}")
}
