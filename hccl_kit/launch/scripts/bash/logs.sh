# The log folder of a start, and what the script notes there for a diagnosis.
# Expects: run, attempt, node. Needs make_plogs.

make_logs() { # sets logs and plogs
    logs=$PWD/hccl_logs/$run
    ((attempt == 0)) || logs+=/restart_$attempt
    mkdir -p -- "$logs" || die "error: cannot create the log folder $logs"
    make_plogs
    if [[ -e hccl_logs/latest && ! -L hccl_logs/latest ]]; then
        echo 'note: hccl_logs/latest is not a symbolic link, so it is not changed' >&2
    else
        ln -sfnT -- "$run" hccl_logs/latest 2>/dev/null || :
    fi
}

note() { # WORDS: with the time, into the file of this server
    printf '%(%s)T %s\n' -1 "$*" >>"$logs/launcher_${node:-0}" || :
} 2>/dev/null
