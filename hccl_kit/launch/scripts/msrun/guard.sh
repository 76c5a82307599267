# The guard: a process that prints the output of a rank, and ends all ranks when the script ends or is killed.
# Expects: log (of the rank that is shown), mark (a variable that only msrun and its workers have in their environment).

# msrun leaves its workers running when it is killed. The guard ends every process with MARK in its environment once its
# pipe is closed: by this script, or by its death, whatever the cause. It has a session of its own, so it outlives the
# script. It reads "msrun PID" and "watch PID". The script checks that the guard is alive, and so does the watch, in
# case the script is gone too; the guard ends the watch first. If all three are killed, the kernel ends msrun, and the
# worker programs end with it.
guard() { # MARK LOG
    trap '' HUP INT TERM
    local kind path pid msrun='' watch='' screen='' signal found
    while read -r kind pid; do
        [[ $kind != watch ]] || watch=$pid
        [[ $kind == msrun ]] || continue
        msrun=$pid
        tail -n +1 -f -s 0.1 --pid="$msrun" -- "$2" &
        screen=$!
    done
    [[ -z $watch ]] || kill "$watch" # or it would start another guard once this one is done
    for signal in TERM KILL KILL; do
        found=()
        while read -r -t 0.5 path; do
            path=${path#/proc/}
            found+=("${path%/environ}")
        done < <(grep --line-buffered -lzxF -e "$1" /proc/[0-9]*/environ)
        ((${#found[@]} > 0)) || break
        kill -s "$signal" "${found[@]}"
        for _ in {1..16}; do
            kill -s 0 "${found[@]}" || break
            sleep 0.05
        done
    done
    [[ -z $msrun ]] || ! kill -s 0 "$msrun" || kill -s KILL "$screen" # it hangs in a driver
    [[ -z $screen ]] || wait "$screen"
    echo 'done' >&5
} 2>/dev/null

start_guard() { # SHOWN: first or none of the ranks; sets guard and on_screen
    on_screen=$1
    exec 5<> <(:)
    exec 9> >(exec setsid "$BASH" -c "$(declare -f guard); guard \"\$@\"" guard "$mark" "$log")
    guard=$!
}

# A guard that was stopped would not notice that the script is killed.
watch_guard() { # continue the guard if it is stopped; start another one if it is killed
    echo "watch $BASHPID" >&9 && exec 9>&-
    while kill -s CONT "$guard"; do idle 1; done
    start_guard none
}
