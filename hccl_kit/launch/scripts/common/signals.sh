# Signals to the script, and the end of the ranks.
# Expects: guard (a process id, or empty), rendezvous. Needs start_guard and send.

is_running() { # PID
    kill -s 0 "$1" 2>/dev/null
}

trap_signals() {
    trap 'quit HUP 129' HUP
    trap 'quit INT 130' INT
    trap 'quit TERM 143' TERM
}

write_to_guard() { # WORD
    (echo "$1" >&9) 2>/dev/null || { start_guard none && echo "$1" >&9; } # it was killed, and the pipe is broken
}

ended_by_user='' # such a job is neither restarted nor diagnosed

end_ranks() { # a signal during this only prevents a restart and a diagnosis
    trap "ended_by_user=1" HUP INT TERM
    for _ in 1 2 3; do
        exec 9>&-
        while kill -s CONT "$guard" 2>/dev/null; do sleep 0.05; done # it may have been stopped
        if read -r -t 0 -u 5; then break; fi
        start_guard none # the other one was killed before it was done
    done
    guard=''
    trap_signals
}

quit() { # SIGNAL CODE: every process gets the signal that this script got
    trap '' HUP INT TERM
    send "failed -2 $2 0"
    if [[ -n $guard ]]; then
        [[ $1 == TERM ]] || write_to_guard "$1" # the guard sends TERM anyway
        end_ranks
    fi
    trap '' HUP INT TERM
    if [[ -n ${before_pause:-} && $! != "$before_pause" ]]; then # the pause before a restart leaves no sleep behind
        kill "$!" 2>/dev/null || :
        wait "$!" || :
    fi
    for _ in {1..20}; do # the rendezvous program ends with this script, and must inform the other servers first
        if ! { [[ -n $rendezvous ]] && kill -0 "$rendezvous"; } 2>/dev/null; then break; fi
        sleep 0.05
    done
    echo "ended by SIG$1${logs:+; logs in $logs}" >&2 || :
    exit "$2"
}
