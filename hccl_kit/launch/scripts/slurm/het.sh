# Refuses a node of a heterogeneous job that has fewer tasks than its server has ranks. Expects: hk_size. Needs hk_fail.

IFS=, read -ra hk_tasks <<<"$SLURM_GTIDS"
((${#hk_tasks[@]} >= hk_size)) || hk_fail \
    "error: node $SLURMD_NODENAME runs ${#hk_tasks[@]} tasks, its server has $hk_size ranks" \
    '  fix: request the nodes of the table in its order, hccl-kit launch ... --nodelist LIST'
