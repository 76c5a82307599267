# A server is known by its id in the table and by its addresses; `names` has those of each server, `server` is what the
# user says.
addresses_by_ip() { ip -o addr | sed -n 's/.* inet6\{0,1\} \([^/ ]*\).*/\1/p'; }

find_server() { # sets node, the index of this server, and server_name
    local i name here_names
    if [[ -n $server ]]; then
        here_names=("$server")
    else
        read -ra here_names -d '' < <(hostname -I 2>/dev/null || addresses_by_ip) || :
        here_names+=("$HOSTNAME" "${HOSTNAME%%.*}")
    fi
    local -A is_here=()
    for name in "${here_names[@]}"; do is_here[$name]=1; done
    node=''
    for i in "${!names[@]}"; do
        while read -r name; do
            [[ -n $name && -n ${is_here[$name]:-} ]] || continue
            [[ -z $node || $node == "$i" ]] ||
                die "error: this host is both ${servers[node]} and ${servers[i]} of the table" \
                    "  fix: say which one with --server ${servers[i]}"
            node=$i
        done <<<"${names[i]}"
    done
    if [[ -z $node ]]; then
        name="${servers[*]:0:8}"
        ((${#servers[@]} <= 8)) || name+=" and $((${#servers[@]} - 8)) more"
        die "error: this host is no server of the table: it has ${here_names[*]}" "  the table has $name" \
            '  fix: run this script on one of them, or say which one this is with --server ID'
    fi
    server_name=${servers[node]}
}
