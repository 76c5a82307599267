# Finds and checks the rank table.
# Expects: table_name, table_sha256. Needs die and list_servers.

# Slurm runs a copy of this script; the table is next to the original.
find_table() { # sets table, symbolic links resolved: torch_npu ignores a table that is one
    local folder script folders=("$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
    script=$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%o 2>/dev/null) || script=''
    script=${script%%$'\n'*} # a heterogeneous job has a line for each of its parts
    until [[ -f $script || $script != *' '* ]]; do script=${script% *}; done # arguments follow it
    [[ $script != */* ]] || folders+=("${script%/*}")
    folders+=("${SLURM_SUBMIT_DIR:-$PWD}")
    for folder in "${folders[@]}"; do
        table=$(readlink -f -- "$folder/$table_name") || continue
        [[ ! -f $table ]] || return 0
    done
    die "error: rank table $table_name not found in ${folders[*]}" \
        '  fix: put it next to this script, on a disk that all nodes share'
}

check_table() { # FUNCTION that ends the script with a message. HCCL cuts the path at its first ".json"
    local found here=${SLURMD_NODENAME:-$HOSTNAME}
    [[ ${table%%.json*}.json == "$table" ]] || "$1" "error: HCCL cannot read $table" '  fix: use .json only at its end'
    found=$(sha256sum <"$table") ||
        "$1" "error: node $here cannot read $table" '  fix: put it on a disk that all nodes share'
    [[ ${found%% *} == "$table_sha256" ]] || "$1" \
        "error: this script was generated for another rank table than $table on node $here" \
        "  expected sha256 $table_sha256" "  found    sha256 ${found%% *}" \
        '  fix: restore the table, or generate table and script again with hccl-kit launch'
}
