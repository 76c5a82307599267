# Ends what runs in the process groups hk_pids. Expects: hk_screen, an array that is empty or has the process that shows
# output, and ends by itself.

hk_end() { # TERM to each group, or to a rank that has none yet; what is left after 5 s is killed
    trap '' HUP INT TERM EXIT
    for hk_pid in "${hk_pids[@]}"; do kill -- "-$hk_pid" || kill "$hk_pid"; done 2>/dev/null
    for _ in {1..50}; do kill -0 -- "${hk_pids[@]}" "${hk_pids[@]/#/-}" "${hk_screen[@]}" && sleep 0.1; done 2>/dev/null
    kill -KILL -- "${hk_pids[@]}" "${hk_pids[@]/#/-}" 2>/dev/null
}
