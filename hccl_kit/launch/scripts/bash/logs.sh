make_logs() {
    logs=$PWD/hccl_logs/$run
    ((attempt == 0)) || logs+=/restart_$attempt
    mkdir -p -- "$logs" || die "error: cannot make the log folder $logs"
    ln -sfn -- "$run" hccl_logs/latest 2>/dev/null || :
}
