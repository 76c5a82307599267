# The guard: a process that prints the output of ranks, and ends all ranks when the script ends or is killed.
# Expects: logs, mark (a variable that only the ranks have in their environment).

# The guard ends every rank once its pipe is closed: by this script, or by its death, whatever the cause. It has a
# session of its own, so it outlives the script. It reads "RANK PID", names of signals to send at the end, and after a
# "!" signals to send now. The script and the watch check that the guard is alive; a replacement (SHOWN is none) finds
# the ranks by MARK.
guard() { # LOGS MARK SHOWN
    trap '' HUP INT TERM
    local rank pid path signal started screens=() signals=(TERM KILL) ranks=()
    started_at() { # PID: sets started to the time at which it was started; empty if it has ended
        local fields
        started=''
        read -r -d '' fields <"/proc/$1/stat" || : # its name is in parentheses, and may hold anything
        read -ra fields <<<"${fields##*)}"
        started=${fields[19]:-}
    }
    add_rank() { # PID
        started_at "$1"
        ranks+=("$1:$started")
    }
    signal_ranks() { # SIGNAL, once: to the group of every rank, or to the rank if it has no group of its own yet
        local rank pid failed=1
        for rank in "${ranks[@]}"; do
            pid=${rank%:*}
            started_at "$pid"
            [[ -z $started || $started == "${rank#*:}" ]] || continue # it has ended, and a stranger has its number
            if kill -s "$1" -- "-$pid" || kill -s "$1" -- "$pid"; then failed=0; fi
        done
        return "$failed"
    }
    while read -r rank pid; do
        if [[ $rank == '!'* ]]; then
            signal_ranks "${rank#!}"
            continue
        elif [[ -z $pid ]]; then
            signals=("$rank" "${signals[@]}")
            continue
        fi
        add_rank "$pid"
        log=$1/rank_$rank.log
        if [[ $rank == watch ]]; then
            continue
        elif [[ $3 == all ]]; then
            tail -n +1 -f -s 0.1 --pid="$pid" -- "$log" | sed -u "s/^/[${HOSTNAME//[^[:alnum:]._-]/}:$rank] /" &
            screens+=($!)
        elif [[ $rank == 0 ]]; then
            tail -n +1 -f -s 0.1 --pid="$pid" -- "$log" &
            screens+=($!)
        fi
    done
    for signal in "${signals[@]}"; do
        if [[ $signal == KILL || $3 == none ]]; then
            # Processes that left the group of their rank still have MARK in their environment. Reading the environment
            # of a process that hangs in a driver may hang too, so it has a time limit.
            while read -r -t 0.3 path; do
                path=${path#/proc/}
                add_rank "${path%/environ}"
            done < <(grep --line-buffered -lzxF -e "$2" /proc/[0-9]*/environ)
        fi
        signal_ranks "$signal" || continue
        for _ in {1..16}; do
            sleep 0.05
            signal_ranks 0 || { ranks=(); break; }
        done
    done
    # A process that survives KILL hangs in a driver; do not wait for its output.
    ! signal_ranks 0 || kill -s KILL "${screens[@]}"
    wait "${screens[@]}"
    echo 'done' >&5
} 2>/dev/null

start_guard() { # SHOWN: first, all or none of the ranks; sets guard and on_screen
    on_screen=$1
    exec 5<> <(:)
    exec 9> >(exec setsid "$BASH" -c "$(declare -f guard); guard \"\$@\"" guard "$logs" "$mark" "$1")
    guard=$!
}
