die() { # LINE ...
    printf '%s\n' "$@" >&2
    exit 2
}

# The shell evaluates what stands in ((...)), after -eq or in an index: a[$(id)] would run id, and 08 is an error. So
# text from elsewhere is a number of this form before it gets there.
is_number() {
    [[ $1 =~ ^(0|[1-9][0-9]{0,9})$ ]]
}

# Slurm runs a copy of this script, and the table lies beside the script itself.
find_table() { # sets table, symbolic links resolved: torch_npu passes over a table that is one
    local folder script folders=("$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")")
    script=$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%o 2>/dev/null) || script=''
    until [[ -f $script || $script != *' '* ]]; do script=${script% *}; done # arguments come after it
    [[ $script != */* ]] || folders+=("${script%/*}")
    folders+=("${SLURM_SUBMIT_DIR:-$PWD}")
    for folder in "${folders[@]}"; do
        table=$(readlink -f -- "$folder/$table_name") || continue
        [[ ! -f $table ]] || return 0
    done
    die "error: no rank table $table_name, looked for in ${folders[*]}" \
        '  fix: put it back beside this script, on a disk that all nodes share'
}

check_table() { # HOW_TO_END where it is another one. HCCL takes the first ".json" of a path for its end
    local found here=${SLURMD_NODENAME:-$HOSTNAME}
    [[ ${table%%.json*}.json == "$table" ]] || "$1" "error: HCCL cannot read $table" '  fix: .json may only be its end'
    found=$(sha256sum <"$table") ||
        "$1" "error: node $here cannot read $table" '  fix: put it on a disk that all nodes share'
    [[ ${found%% *} == "$table_sha256" ]] || "$1" \
        "error: this script was made for another rank table than $table on node $here" \
        "  expected sha256 $table_sha256" "  found    sha256 ${found%% *}" \
        '  fix: put the old table back, or write table and script anew with hccl-kit launch'
}
