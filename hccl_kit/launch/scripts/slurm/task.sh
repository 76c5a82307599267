# The end of hk_task: the command of a rank.

    # Here is the place for numactl before the command. The rank gets the signals of the job too.
    trap : HUP INT QUIT TERM USR1 USR2
    { "$@" 2>&1; } 2>/dev/null # without bash's "Killed"
}
