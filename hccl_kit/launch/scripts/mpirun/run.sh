# Runs mpirun, and ends with its exit code. Expects: hk_options, hk_command, hk_rank (a function, with the folder before
# the command).

# The command is one word, so that mpirun does not interpret any part of it, such as a lone ":".
printf -v hk_words ' %q' "$PWD" "${hk_command[@]}"
((EUID != 0)) || hk_options+=(--allow-run-as-root)
# Open MPI 5 does not start if a killed mpirun that had its process id has left files, so it gets another folder.
hk_files=$(mktemp -d) && trap 'rm -rf -- "$hk_files"' EXIT
[[ -n ${PRTE_MCA_prte_tmpdir_base:-}${PRTE_MCA_prte_local_tmpdir_base:-} ]] ||
    export PRTE_MCA_prte_local_tmpdir_base=$hk_files
hk_end() { # CODE: mpirun ends the ranks; if it still connects to hosts, it and its ssh are killed after 10 s
    trap '' HUP INT TERM
    kill "$hk_mpirun"
    for _ in {1..100}; do kill -0 "$hk_mpirun" && sleep 0.1; done 2>/dev/null
    pkill -KILL -s "$hk_mpirun"
    exit "$1"
}
hk_start=(setpriv --pdeathsig KILL setsid) # mpirun dies with this script
"${hk_start[@]}" true 2>/dev/null || hk_start=(setsid)
"${hk_start[@]}" mpirun "${hk_options[@]}" bash -c "$(declare -f hk_rank); hk_rank$hk_words" <&0 &
hk_mpirun=$!
trap 'hk_end 129' HUP && trap 'hk_end 130' INT && trap 'hk_end 143' TERM
wait "$hk_mpirun"
