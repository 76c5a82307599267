# Ends the workers if the script is ended. Needs hk_end.

hk_stop() { # msrun leaves its workers running when it is ended, so they are listed before
    hk_msrun=$! hk_screen=()
    kill -STOP "$hk_msrun" && mapfile -t hk_pids < <(pgrep -P "$hk_msrun") && kill -KILL -- "-$hk_msrun"
    hk_end
} 2>/dev/null
trap hk_stop EXIT
trap 'exit 129' HUP && trap 'exit 130' INT && trap 'exit 143' TERM
