# Finds and checks the rank table.
# Expects: hk_table (a name), hk_digest. Needs hk_fail.

[[ "${SLURM_JOB_ID:-} ${SLURM_RESTART_COUNT:-0}" =~ ^[1-9][0-9]{0,9}\ (0|[1-9][0-9]{0,5})$ ]] ||
    hk_fail 'error: not started by Slurm' "  fix: sbatch $0"
hk_script=$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%o | head -n 1) # Slurm runs a copy of it
until [[ -f $hk_script || $hk_script != *' '* ]]; do hk_script=${hk_script% *}; done # arguments follow it
for hk_folder in "${hk_script%/*}" "$(dirname -- "${BASH_SOURCE[0]}")" "${SLURM_SUBMIT_DIR:-.}"; do
    [[ ! -f $hk_folder/$hk_table ]] || break
done
hk_table=$(readlink -f -- "$hk_folder/$hk_table")
[[ $(sha256sum <"$hk_table") == "$hk_digest "* ]] || hk_fail "error: $hk_table is not the table of this script" \
    '  fix: put it next to this script, on a disk that all nodes share'
