# A task of srun: runs one rank, with rank and card from the table.
# Expects: all_ranks and all_devices (of each server), command, mpi. Needs rank_environment and
# enter_container (which may change start, the words of the command).

task() { # LOGS TABLE ARGUMENT ...
    local rank device code=0 ranks devices tasks
    HOSTNAME=$(uname -n) # srun passes on that of the first node
    logs=$1 table=$2
    shift 2
    { [[ -d $logs ]] && is_own -- "$logs"; } ||
        die "error: node $SLURMD_NODENAME does not see $logs; start the job in a folder that all nodes share"
    find_server
    if [[ $table == --which ]]; then # which server this node is
        claim_server
        exit 0
    fi
    read -ra ranks <<<"${all_ranks[node]}"
    read -ra devices <<<"${all_devices[node]}"
    is_number "${SLURM_LOCALID:-}" ||
        refuse "error: SLURM_LOCALID is not a number: $(printf '%.80q' "${SLURM_LOCALID:-}")"
    IFS=, read -ra tasks <<<"${SLURM_GTIDS:-}" # their numbers on this node
    ((${#tasks[@]} == 0 || ${#tasks[@]} >= ${#ranks[@]})) || refuse \
        "error: node $SLURMD_NODENAME runs ${#tasks[@]} tasks, server ${servers[node]} has ${#ranks[@]} ranks" \
        "  fix: request the nodes of the table in its order, hccl-kit launch ... --nodelist LIST"
    ((SLURM_LOCALID < ${#ranks[@]})) || exit 0 # another node has more cards
    rank=${ranks[SLURM_LOCALID]} device=${devices[SLURM_LOCALID]}
    [[ $mpi == none || ${SLURM_PROCID:-} == "$rank" ]] || refuse \
        "error: node $SLURMD_NODENAME has rank ${SLURM_PROCID:-} of MPI where the table has rank $rank"
    ((SLURM_LOCALID > 0)) || claim_server
    check_table refuse
    server_name=${servers[node]}
    make_plogs
    rank_environment
    # A signal of Slurm reaches the rank too, which handles it.
    trap : HUP INT QUIT TERM USR1 USR2
    local start=("${command[@]}" "$@")
    enter_container
    { "${start[@]}" >>"$logs/rank_$rank.log" 2>&1 || code=$?; } 2>/dev/null # hides bash's "Killed"
    if ((code != 0)); then
        echo "$code $device $HOSTNAME" >"$logs/end_$rank" || :
        (set -C && echo "$rank" >"$logs/failed") 2>/dev/null || :
    fi
    exit "$code"
}
