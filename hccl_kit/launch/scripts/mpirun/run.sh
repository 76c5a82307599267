# Runs mpirun in a session of its own, and ends with its exit code.
# Expects: mpirun, options, command, own_session, cards, counts, visible_name, threads_name, run. Needs die, choose_port,
# check_visible, share_cores, is_number and rank_environment (which the shell of a rank runs before the command).

printf -v visible ',%s' "${cards[@]:0:counts[0]}"
check_visible die "${visible:1}"
unset -v "$visible_name" # a smaller host has another list, and every host sets its own
find_python 6
choose_port

refuse() { # LINE ...: of a rank; the first of its node says why
    if [[ $OMPI_COMM_WORLD_LOCAL_RANK != 0 ]]; then sleep 5; else printf '%s\n' "$@" >&2; fi
    exit 2
}

# The whole command is one word, so mpirun does not interpret any part of it, such as a lone ":". The kernel kills a
# rank when its mpirun, or the daemon of its host, ends or is killed.
printf -v folder '%q' "$PWD"
printf -v program ' %q' "${command[@]}" "$@"
program="$(declare -f is_number check_visible share_cores refuse rank_environment)
$(declare -p cards counts visible_name threads_name)
rank_environment $port $run
cd -- $folder || { echo \"error: folder not found on \$HOSTNAME\" >&2; exit 2; }
set --$program
if setpriv --pdeathsig KILL true 2>/dev/null; then set -- setpriv --pdeathsig KILL -- \"\$@\"; fi
exec -- \"\$@\""
((EUID != 0)) || options+=(--allow-run-as-root)

# Open MPI 5 does not start if a killed mpirun that had its PID has left /tmp/ompi.PID, so it gets another folder.
if [[ -z ${PRTE_MCA_prte_tmpdir_base:-}${PRTE_MCA_prte_local_tmpdir_base:-} ]]; then
    PRTE_MCA_prte_local_tmpdir_base=$(mktemp -d -t mpirun.XXXXXX) ||
        die 'error: cannot create a folder for the files of mpirun' '  fix: set TMPDIR to a folder with free space'
    export PRTE_MCA_prte_local_tmpdir_base
    trap 'rm -rf -- "$PRTE_MCA_prte_local_tmpdir_base"' EXIT
fi

pass_on() { # SIGNAL CODE: mpirun ignores it while it connects to hosts; it and its ssh are killed after 10 s
    local stat line session
    trap '' HUP INT TERM
    kill -s "$1" "$job" || :
    for _ in {1..100}; do
        if ! kill -s 0 "$job"; then break; fi
        sleep 0.1
    done
    for stat in /proc/[0-9]*/stat; do
        read -r line <"$stat" || continue # it has ended
        read -r _ _ _ session _ <<<"${line##*) }"
        [[ $session != "$job" ]] || kill -s KILL "${stat//[!0-9]/}" || :
    done
    exit "$2"
} 2>/dev/null

trap 'pass_on HUP 129' HUP
trap 'pass_on INT 130' INT
trap 'pass_on TERM 143' TERM
"${own_session[@]}" "$mpirun" "${options[@]}" bash -c "$program" <&0 &
job=$!
wait "$job"
