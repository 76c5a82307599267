# Asks every node which server of the table it is.
# Expects: hk_srun, hk_each (srun's options for a task on each node), hk_digest, hk_number (server by name), and of each
# server hk_ids, hk_ranks, hk_cards. Needs hk_fail.

hk_ask() { # on each node, once: its names and addresses
    ((SLURM_LOCALID == 0)) || exit 0
    [[ -d $HCCL_KIT_LOG_DIR && $(sha256sum <"$RANK_TABLE_FILE") == "$1 "* ]] || hk_fail \
        "error: node $SLURMD_NODENAME does not see $HCCL_KIT_LOG_DIR, or another $RANK_TABLE_FILE" \
        '  fix: put the table, and start the job, on a disk that all nodes share'
    echo "hk_node $SLURMD_NODENAME $(uname -n) $(uname -n | cut -d . -f 1) $(hostname -I) 127.0.0.1 ::1"
}
hk_answers=$("${hk_srun[@]}" "${hk_each[@]}" bash -c "$(declare -f hk_fail hk_ask); hk_ask $hk_digest") || exit 2
while read -ra hk_names; do
    [[ ${hk_names[0]:-} == hk_node ]] || continue
    hk_node=${hk_names[1]} hk_names=("${hk_names[@]:1}") hk_found=()
    [[ -z ${hk_number[$hk_node]:-} ]] || hk_names=("$hk_node") # its name in Slurm counts first
    [[ -z ${HCCL_KIT_SERVER:-} ]] || hk_names=("$HCCL_KIT_SERVER")
    for hk_name in "${hk_names[@]}"; do
        hk_server=${hk_number[$hk_name]:-}
        [[ -z $hk_server ]] || hk_found[hk_server]=$hk_name
    done
    ((${#hk_found[@]} == 1)) || hk_fail \
        "error: node $hk_node (${hk_names[*]}) matches ${#hk_found[@]} servers of the table: ${hk_ids[*]:0:8}" \
        '  fix: request its nodes, sbatch --nodelist=..., or set HCCL_KIT_SERVER to the server that this node is'
    hk_server=${!hk_found[*]}
    hk_nodes+=("$hk_node") hk_taken[hk_server]=$hk_node
    echo "$hk_node $hk_server ${hk_ranks[hk_server]} ${hk_cards[hk_server]}" >>"$hk_logs/nodes"
done <<<"$hk_answers"
[[ "${#hk_nodes[@]} ${#hk_taken[@]}" == "${#hk_ids[@]} ${#hk_ids[@]}" ]] ||
    hk_fail "error: nodes ${hk_nodes[*]:0:8} are ${#hk_taken[@]} of the ${#hk_ids[@]} servers of the table"
