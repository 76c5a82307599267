# Places the tasks so that MPI numbers the ranks as the table does: srun takes the host of task N from line N of a file.
# Expects: hk_each (srun for a task on each node), hk_logs, which has the program of a task.

unset -v SLURM_HOSTFILE SLURM_NTASKS_PER_NODE
hk_hosts=$("${hk_each[@]}" bash -C "$hk_logs/task") || exit 2
sort -n <<<"$hk_hosts" | cut -d ' ' -f 2 >"$hk_logs/hosts"
export SLURM_HOSTFILE="$hk_logs/hosts"
