# The first task that cannot start says why; the job shows it last.
refuse() { # LINE ...
    (set -C && printf '%s\n' "$@" >"$logs/refused") 2>/dev/null || [[ -s $logs/refused ]] || printf '%s\n' "$@" >&2
    exit 2
}

own_addresses() {
    hostname -I 2>/dev/null || ip -o addr 2>/dev/null | sed -n 's/.* inet6\{0,1\} \([^/ ]*\).*/\1/p'
}

find_server() { # sets node, the index of the server that this node is
    local i name own=() known="${servers[*]:0:8}"
    ((${#servers[@]} <= 8)) || known+=" and $((${#servers[@]} - 8)) more"
    node=''
    for i in "${!servers[@]}"; do
        [[ ${servers[i]} != "${server:-$SLURMD_NODENAME}" ]] || node=$i
    done
    [[ -z $server || -n $node ]] || refuse "error: $server_name=$server on node $SLURMD_NODENAME; the table has $known"
    if [[ -z $node ]]; then
        read -ra own -d '' < <(own_addresses) || :
        own+=("$HOSTNAME" "${HOSTNAME%%.*}" "$SLURMD_NODENAME")
        local -A is_own=([127.0.0.1]=1 [::1]=1)
        for name in "${own[@]}"; do is_own[$name]=1; done
        for i in "${!names[@]}"; do
            while read -r name; do
                [[ -n $name && -n ${is_own[$name]:-} ]] || continue
                [[ -z $node || $node == "$i" ]] ||
                    refuse "error: node $SLURMD_NODENAME is both ${servers[node]} and ${servers[i]} of the table" \
                        "  fix: set $server_name on it to the one that it is"
                node=$i
            done <<<"${names[i]}"
        done
    fi
    [[ -n $node ]] || refuse \
        "error: node $SLURMD_NODENAME (${own[*]}) is no server of the table, which has $known" \
        "  fix: ask for its nodes, sbatch --nodelist=..., or set $server_name to the server that this node is"
}

claim_server() { # a server is one node: where two take themselves for the same, its ranks would run twice
    local other=''
    (set -C && echo "$SLURMD_NODENAME $SLURM_STEP_ID" >"$logs/node_$node") 2>/dev/null && return
    read -r other _ <"$logs/node_$node" || :
    [[ -z $other || $other == "$SLURMD_NODENAME" ]] || refuse \
        "error: nodes $other and $SLURMD_NODENAME both take themselves for server ${servers[node]} of the table" \
        "  fix: set $server_name on each to the server that it is; set for the whole job, it fits one node only"
}
