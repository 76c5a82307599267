# The batch script: checks the job, then runs a task for every rank with srun.
# Expects: servers, step (srun's options of place), mpi, run, port_name, first_port and ports. Needs job_environment,
# prepare_step, run_tasks and the functions of folders and restart.

job() { # ARGUMENT ...
    local name code ended nodes
    [[ -n ${SLURM_JOB_ID:-} ]] || die 'error: not started by Slurm' "  fix: sbatch $0"
    for name in SLURM_JOB_ID SLURM_ARRAY_JOB_ID SLURM_ARRAY_TASK_ID; do
        is_number "${!name:-0}" || die "error: $name is not a number: $(printf '%.80q' "${!name}")"
    done
    nodes=$(allocated_nodes)
    [[ $nodes == "${#servers[@]}" ]] ||
        die "error: the job has $nodes nodes, the table has ${#servers[@]} servers" \
            "  fix: leave out --nodes, or request ${#servers[@]}"
    find_table
    check_table die
    port=${!port_name:-$((first_port + SLURM_JOB_ID % ports))}
    is_port "$port" || die "error: $port_name=$port is not a port number (1 to 65535)" \
        "  fix: unset $port_name to derive a port from the job's number"
    trust_folders
    program=$(<"${BASH_SOURCE[0]}")
    count_starts
    while :; do
        make_logs
        job_environment
        code=0 ended=''
        prepare_step || code=$?
        ((code != 0)) || run_tasks "$@" || code=$?
        conclude "$code" "$ended" || code=$?
        ((code != 0)) || exit 0
        starts_again "$code" || give_up "$code"
    done
}

allocated_nodes() { # print the number of nodes; a heterogeneous job has them in parts
    local part count nodes=0
    if ! is_number "${SLURM_HET_SIZE:-}" 9999; then echo "${SLURM_JOB_NUM_NODES:-0}" && return; fi
    for ((part = 0; part < SLURM_HET_SIZE; part++)); do
        count=SLURM_JOB_NUM_NODES_HET_GROUP_$part
        ! is_number "${!count:-}" 999999 || nodes=$((nodes + ${!count}))
    done
    echo "$nodes"
}

make_logs() { # sets logs; and run, to another name if an earlier start in the same allocation has the folder
    if ((restart == 0)); then
        new_run "$run"
        logs=$PWD/hccl_logs/$run
    else
        make_log_folder
        join_run "$PWD/hccl_logs/$run"
        logs=$PWD/hccl_logs/$run/restart_$restart
        join_run "$logs"
    fi
    : >>"$logs/rank_0.log" || die "error: cannot write to the log folder $logs"
    echo "$restart" >"$PWD/hccl_logs/$run/restarts" || :
    link_latest
}
