# The end of hk_task: the command of a rank.

    # Here is the place for numactl. Slurm may give signals to the process of the task only: the rank takes its place.
    exec "$@"
}
