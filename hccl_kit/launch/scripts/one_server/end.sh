# Ends the ranks, whatever ends the script.

hk_end() { # TERM for the ranks and what they have started, and KILL after 5 s
    trap '' HUP INT TERM
    for hk_signal in TERM $(yes 0 | head -50) KILL; do # 0 asks whether any is left
        # shellcheck disable=SC2046  # one word for each rank
        kill -s "$hk_signal" -- "${hk_pids[@]/#/-}" $(jobs -pr) 2>/dev/null || return
        sleep 0.1
    done
}
trap hk_end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
hk_pids=() hk_start=(setsid) # each rank leads a process group
! setpriv --pdeathsig KILL true 2>/dev/null || hk_start=(setpriv --pdeathsig KILL setsid) # and dies with this script
