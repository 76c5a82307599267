# Places the tasks so that MPI numbers the ranks as the table does.
# Expects: servers, all_ranks, logs. Needs conclude, pass_program and give_up.

# srun takes the host of task N from line N of a file.
order_hosts() {
    local node rank name hosts=()
    unset -v SLURM_HOSTFILE # of an earlier start
    pass_program
    srun --nodes="${#servers[@]}" --ntasks="${#servers[@]}" --ntasks-per-node=1 --kill-on-bad-exit=1 --export=ALL \
        --mpi=none --cpu-bind=none "${task_words[@]}" --which || return
    for node in "${!servers[@]}"; do
        read -r name _ <"$logs/node_$node" && [[ $name =~ ^[[:alnum:]._-]+$ ]] || return 2
        for rank in ${all_ranks[node]}; do hosts[rank]=$name; done
    done
    rm -f -- "$logs"/node_*
    printf '%s\n' "${hosts[@]}" >"$logs/hosts" || return 2
    export SLURM_HOSTFILE=$logs/hosts
} 2>&1
