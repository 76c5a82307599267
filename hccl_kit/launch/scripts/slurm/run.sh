# Makes the folder of the run. A requeued job continues that of its first start. Needs hk_fail.

hk_run=slurm-${SLURM_ARRAY_JOB_ID:-$SLURM_JOB_ID}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}
[[ -n ${SLURM_RESTART_COUNT:-} ]] || mkdir -m 700 "hccl_logs/$hk_run" 2>/dev/null || # an earlier start has it
    hk_run=$(cd hccl_logs && mktemp -d "$hk_run-XXXXXX") || exit 2
hk_logs=$PWD/hccl_logs/$hk_run${SLURM_RESTART_COUNT:+/restart_$SLURM_RESTART_COUNT}
mkdir -p -- "$hk_logs"
[[ -e hccl_logs/latest && ! -L hccl_logs/latest ]] || ln -sfT -- "$hk_run" hccl_logs/latest
