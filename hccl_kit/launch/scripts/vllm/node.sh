# Finds out which server of the plan this host or pod is, its options, cards and interface.
# Expects: servers, server and server_name (the variable that names the server, and its value), addresses, all_options,
# all_devices, interface (empty: the one with the address). Needs die and match_server.

if [[ ${#servers[@]} == 1 ]]; then
    node=0
elif [[ -n $server ]]; then
    node=''
    for i in "${!servers[@]}"; do [[ ${servers[i]} != "$server" ]] || node=$i; done
    [[ -n $node ]] || die "error: $server_name=$server is not a server of the plan: $(list_servers)"
else
    read -ra own -d '' < <(own_names) || :
    match_server "${own[@]}"
    [[ -z $other ]] || die "error: this host matches both ${servers[node]} and ${servers[other]} of the plan" \
        "  fix: set $server_name to the one that runs here"
    [[ -n $node ]] || die "error: this host is not a server of the plan: it has ${own[*]}" \
        "  the plan has $(list_servers)" "  fix: set $server_name to the server that this host is"
fi
read -ra options <<<"${all_options[node]}"
devices=${all_devices[node]// /,}

interface_of() { # ADDRESS: print the interface that has it
    local name own found=''
    command -v ip >/dev/null || return 1
    while read -r _ name _ own _; do
        [[ ${own%%/*} != "$1" || -n $found ]] || found=${name%%@*}
    done < <(ip -o addr show)
    echo "$found"
}

if [[ -n ${addresses[node]} && -z $interface ]]; then
    interface=$(interface_of "${addresses[node]}") || die "error: ip is not on PATH" \
        '  fix: install iproute2, or name the interface: hccl-kit launch --nic NAME'
    [[ -n $interface ]] || die "error: no interface of this host has ${addresses[node]}" \
        '  fix: run pods in the network of their host, or name the interface: hccl-kit launch --nic NAME'
fi
