# Ends the workers if the script is ended. Expects: hk_msrun, empty or the process id of msrun. Needs hk_end.

hk_msrun='' # while it runs
hk_workers() { # msrun leaves them running when it is ended, so they are found before
    if kill -STOP "$hk_msrun" 2>/dev/null; then
        mapfile -t hk_pids < <(pgrep -P "$hk_msrun")
        kill -KILL -- "-$hk_msrun"
    fi
}
trap 'hk_workers; hk_end' EXIT
