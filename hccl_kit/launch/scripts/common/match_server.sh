# Finds servers of the table by the names and addresses of a host.
# Expects: servers (ids), names (of each server, one per line).

own_names() { # print the addresses and names of this host
    hostname -I 2>/dev/null || ip -o addr 2>/dev/null | sed -n 's/.* inet6\{0,1\} \([^/ ]*\).*/\1/p'
    printf '%s\n' "$HOSTNAME" "${HOSTNAME%%.*}"
}

match_server() { # NAME ...: sets node to the index of the server with one of these names, and other if two match
    local i name
    local -A is_own=()
    for name; do is_own[$name]=1; done
    node='' other=''
    for i in "${!names[@]}"; do
        while read -r name; do
            if [[ -z $name || -z ${is_own[$name]:-} || $node == "$i" ]]; then continue; fi
            if [[ -n $node ]]; then other=$i && return; fi
            node=$i
        done <<<"${names[i]}"
    done
}

list_servers() { # print the first servers of the table
    echo "${servers[*]:0:8}${servers[8]:+ and $((${#servers[@]} - 8)) more}"
}
