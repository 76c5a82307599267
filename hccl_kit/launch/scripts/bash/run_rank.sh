# Runs one rank.
# Expects: ranks, devices, logs, own_session. Needs note and rank_environment.

# Background jobs of a script ignore SIGINT; env --default-signal (coreutils 8.31 or newer) resets it. With an older
# env, the guard's SIGTERM ends the rank.
if env --default-signal=INT true 2>/dev/null; then
    own_session=(env '--default-signal=INT,QUIT' "${own_session[@]}")
fi

# A rank leads its process group. The guard knows it before it becomes the command, and the pipe to the guard stays open
# until then, so the guard misses none. The log is opened for appending, so it can be cut while it grows.
run_rank() { # LOCAL_RANK COMMAND ...
    local rank=${ranks[$1]} device=${devices[$1]} code=0
    rank_environment "$1"
    shift
    (echo "$rank $BASHPID" >&9 && exec "${own_session[@]}" "$@" 5>&- 6>&- 7>&- 8>&- 9>&-) \
        >>"$logs/rank_$rank.log" 2>&1 &
    trap '' HUP TERM # a signal to the whole group must not orphan the rank; the guard ends it
    exec 9>&-
    wait $! || code=$?
    if ((code != 0)); then
        note "exited $rank $code $device $HOSTNAME"
        echo "rank $rank $code" >&8
        echo "$rank $code" >>"$logs/failed" # for the report
    elif [[ -e $logs/step_$rank ]]; then
        : >"$logs/step_$rank" # it has finished and takes no more steps
    fi
    exit "$code"
}
