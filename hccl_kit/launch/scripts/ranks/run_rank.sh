# Jobs of a script are born deaf to Ctrl-C. The env of coreutils 8.31 gives a rank its hearing back; where it is older,
# the guard's SIGTERM ends the rank.
own_session=(setsid)
if env --default-signal=INT true 2>/dev/null; then own_session=(env '--default-signal=INT,QUIT' setsid); fi
# Where all that looks after a rank is killed at once, the kernel ends the rank.
if setpriv --pdeathsig KILL true 2>/dev/null; then own_session=(setpriv --pdeathsig KILL -- "${own_session[@]}"); fi

# One rank, the leader of its process group. It is with the guard before it becomes the command, and keeps the pipe
# open until then, so the guard misses none. The log is added to, so that it can be cut while it grows.
run_rank() { # LOCAL_RANK COMMAND ...
    local rank=${ranks[$1]} code=0
    rank_environment "$1"
    shift
    (echo "$rank $BASHPID" >&9 && exec "${own_session[@]}" "$@" 5>&- 6>&- 7>&- 8>&- 9>&-) \
        >>"$logs/rank_$rank.log" 2>&1 &
    trap '' HUP TERM # a signal to all of us must not orphan the rank; the guard ends it
    exec 9>&-
    wait $! || code=$?
    if ((code != 0)); then
        echo "rank $rank $code" >&8
        echo "$rank $code" >>"$logs/failed" # for those who come later
    elif [[ -e $logs/step_$rank ]]; then
        : >"$logs/step_$rank" # it is done, and takes no more steps
    fi
    exit "$code"
}
