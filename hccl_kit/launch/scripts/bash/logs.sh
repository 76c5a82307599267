# The log folder of a start, and what the script notes there for a diagnosis.
# Expects: run, attempt, node. Needs make_plogs and the functions of folders.

make_logs() { # sets logs and plogs; and run, to a name that is free, if it is empty
    if [[ -z $run ]]; then
        name_run
        new_run "$run"
    else # of a restart, or the servers have agreed on it
        make_log_folder
        join_run "$PWD/hccl_logs/$run"
    fi
    logs=$PWD/hccl_logs/$run
    if ((attempt > 0)); then
        logs+=/restart_$attempt
        join_run "$logs"
    fi
    make_plogs
    link_latest
}

note() { # WORDS: with the time, into the file of this server
    printf '%(%s)T %s\n' -1 "$*" >>"$logs/launcher_$node" || :
} 2>/dev/null
