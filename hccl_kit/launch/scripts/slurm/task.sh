# A task of srun: runs one rank, with rank and card from the table.
# Expects: all_ranks and all_devices (of each server), command. Needs rank_environment.

task() { # TABLE ARGUMENT ...
    local rank device code=0 ranks devices
    HOSTNAME=$(uname -n) # srun passes on that of the first node
    table=$1
    logs=$(dirname -- "${BASH_SOURCE[0]}")
    shift
    find_server
    read -ra ranks <<<"${all_ranks[node]}"
    read -ra devices <<<"${all_devices[node]}"
    is_number "${SLURM_LOCALID:-}" ||
        refuse "error: SLURM_LOCALID is not a number: $(printf '%.80q' "${SLURM_LOCALID:-}")"
    ((SLURM_LOCALID < ${#ranks[@]})) || exit 0 # another node has more cards
    rank=${ranks[SLURM_LOCALID]} device=${devices[SLURM_LOCALID]}
    ((SLURM_LOCALID > 0)) || claim_server
    check_table refuse
    server_name=${servers[node]}
    make_plogs
    rank_environment
    # A signal of Slurm reaches the rank too, which handles it.
    trap : HUP INT QUIT TERM USR1 USR2
    { "${command[@]}" "$@" >>"$logs/rank_$rank.log" 2>&1 || code=$?; } 2>/dev/null # hides bash's "Killed"
    if ((code != 0)); then
        echo "$code $device $HOSTNAME" >"$logs/end_$rank" || :
        (set -C && echo "$rank" >"$logs/failed") 2>/dev/null || :
    fi
    exit "$code"
}
