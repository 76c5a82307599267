# Places the tasks so that MPI numbers the ranks as the table does.
# Expects: hk_taken (nodes) and hk_ranks (of each server), hk_logs.

for hk_server in "${!hk_taken[@]}"; do # srun takes the host of task N from line N of a file
    for hk_rank in ${hk_ranks[hk_server]//,/ }; do hk_hosts[hk_rank]=${hk_taken[hk_server]}; done
done
printf '%s\n' "${hk_hosts[@]}" >"$hk_logs/hosts" || exit 2
export SLURM_HOSTFILE="$hk_logs/hosts"
