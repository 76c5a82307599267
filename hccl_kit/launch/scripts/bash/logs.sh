# The log folder of a start, and what the script notes there for a diagnosis.
# Expects: run, attempt, node. Needs make_plogs.

make_logs() { # sets logs and plogs
    logs=$PWD/hccl_logs/$run
    ((attempt == 0)) || logs+=/restart_$attempt
    mkdir -p -- "$logs" || die "error: cannot create the log folder $logs"
    make_plogs
    ln -sfnT -- "$run" hccl_logs/latest || : # a folder of this name stays, and ln says so
}

note() { # WORDS: with the time, into the file of this server
    printf '%(%s)T %s\n' -1 "$*" >>"$logs/launcher_${node:-0}" || :
} 2>/dev/null
