# Ends what runs in the process groups hk_pids, whatever ends the script.

hk_pids=()
hk_end() { # TERM for all that was started, and KILL after 5 s
    trap '' HUP INT TERM
    for hk_signal in TERM $(yes 0 | head -50) KILL; do # 0 asks whether any is left
        # A job that has no group yet gets the signal itself; with both it would get two.
        # shellcheck disable=SC2046  # one word for each
        kill -s "$hk_signal" -- "${hk_pids[@]/#/-}" $(jobs -pr | while read -r hk_job; do
            kill -0 -- "-$hk_job" 2>/dev/null || echo "$hk_job"; done) 2>/dev/null || return
        sleep 0.1
    done
}
trap hk_end EXIT
trap 'exit 129' HUP && trap 'exit 130' INT && trap 'exit 143' TERM
