# Finds out, in a task, which server of the table its node is.
# Expects: servers, server and server_name (the variable that names the server, and its value). Needs match_server.

# The first task that cannot start writes why; the job shows it last.
refuse() { # LINE ...
    set -- "${@//[[:cntrl:]]/?}"
    (set -C && printf '%s\n' "$@" >"$logs/refused") 2>/dev/null || [[ -s $logs/refused ]] || printf '%s\n' "$@" >&2
    exit 2
}

find_server() { # sets node, the index of the server that this node is
    local i own=() other=''
    node=''
    for i in "${!servers[@]}"; do
        [[ ${servers[i]} != "${server:-$SLURMD_NODENAME}" ]] || node=$i
    done
    [[ -z $server || -n $node ]] ||
        refuse "error: $server_name=$server on node $SLURMD_NODENAME; the table has $(list_servers)"
    if [[ -z $node ]]; then
        read -ra own -d '' < <(own_names) || :
        match_server "${own[@]}" "$SLURMD_NODENAME" 127.0.0.1 ::1
    fi
    [[ -z $other ]] || refuse \
        "error: node $SLURMD_NODENAME matches both ${servers[node]} and ${servers[other]} of the table" \
        "  fix: set $server_name on it to one of them"
    [[ -n $node ]] || refuse \
        "error: node $SLURMD_NODENAME (${own[*]} $SLURMD_NODENAME) is not a server of the table: $(list_servers)" \
        "  fix: request its nodes, sbatch --nodelist=..., or set $server_name to the server that this node is"
}

claim_server() { # a server is one node: if two nodes match the same server, its ranks would run twice
    local other=''
    (set -C && echo "$SLURMD_NODENAME $SLURM_STEP_ID" >"$logs/node_$node") 2>/dev/null && return
    read -r other _ <"$logs/node_$node" || :
    [[ -z $other || $other == "$SLURMD_NODENAME" ]] || refuse \
        "error: nodes $other and $SLURMD_NODENAME both match server ${servers[node]} of the table" \
        "  fix: set $server_name on each node to its own server; one value for the whole job fits one node only"
}
