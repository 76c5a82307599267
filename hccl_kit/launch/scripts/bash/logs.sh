# The log folder of a start.
# Expects: run, attempt.

make_logs() { # sets logs
    logs=$PWD/hccl_logs/$run
    ((attempt == 0)) || logs+=/restart_$attempt
    mkdir -p -- "$logs" || die "error: cannot create the log folder $logs"
    ln -sfn -- "$run" hccl_logs/latest 2>/dev/null || :
}
