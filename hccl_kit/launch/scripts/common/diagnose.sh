# Shows what `hccl-kit diagnose` says about a job that failed, if the kit is there.
# Expects: diagnose_s (the seconds that it may take, 0: not at all). Needs is_number and find_kit.

# It never changes the exit code of the job: neither by its own, nor by being late or ended by a signal. Each read has a
# limit, so that a signal is heard meanwhile; what is read then is a part of a line, and the pipe is left where it ends.
diagnose() { # FOLDER: print the first lines of the diagnosis; nothing without the kit
    local code line text='' kit
    is_number "$diagnose_s" 86400 || diagnose_s=60
    ((diagnose_s > 0)) && [[ -z ${ended_by_user:-} && -d $1 ]] || return 0
    command -v timeout >/dev/null || return 0
    find_kit || return 0
    exec 4< <(exec timeout --foreground -k 1 "$diagnose_s" "${kit[@]}" diagnose "$1" </dev/null 2>/dev/null)
    diagnosing=$!
    trap 'kill "$diagnosing" 2>/dev/null || :' HUP INT TERM
    while :; do
        code=0
        IFS= read -r -t 0.2 -u 4 line || code=$?
        text+=$line
        ((code == 0 || code > 128)) || break
        ((code > 0)) || text+=$'\n'
    done
    exec 4<&-
    [[ -z $text ]] || printf '\n%s\n' "$(head -n 12 <<<"${text%$'\n'}")"
}
