# Finds out which server of the table this host is.
# Expects: server (given by the user), servers. Needs match_server.

with_ranks() { # SERVER: print it with its ranks
    local i
    for i in "${!servers[@]}"; do [[ ${servers[i]} != "$1" ]] || echo "$1 ${all_ranks[i]}"; done
}

find_server() { # sets node, the index of this server, and server_name
    local own other
    if [[ -n $server ]]; then own=("$server"); else read -ra own -d '' < <(own_names) || :; fi
    match_server "${own[@]}"
    [[ -z $other ]] || die "error: this host matches both ${servers[node]} and ${servers[other]} of the table" \
        "  fix: choose one with --server ${servers[other]}"
    [[ -n $node ]] || die "error: this host is not a server of the table: it has ${own[*]}" \
        "  the table has $(list_servers)" \
        "  fix: run this script on one of them, or name this host's server with --server ID"
    server_name=${servers[node]}
}
