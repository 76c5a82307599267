# Chooses the port of rank 0 on this host.
# Expects: python, port_name (the variable of a given port), first_port and ports (the range for others).

bind='import socket, sys
for port in sys.argv[1:]:
    with socket.socket() as s:
        s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try: s.bind(("", int(port)))
        except OSError: continue
    print(port)
    break'

first_free() { # PORT ...: print the first that can be bound, nothing if there is none
    local port
    [[ -z $python ]] || { "$python" -I -c "$bind" "$@" && return; }
    echo 'note: no Python found, so the port was only probed by connecting, not by binding' >&2
    for port; do
        if ! (: <"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then echo "$port" && return; fi
    done
}

given_port=${!port_name:-} # by the user; the ranks get the chosen one under this name

choose_port() { # sets port to the given one, otherwise to a random free one
    local candidates=() unset_it="  fix: unset $port_name to use a free port"
    if [[ -n $given_port ]]; then
        is_port "$given_port" || die "error: $port_name=$given_port is not a port number (1 to 65535)" "$unset_it"
        candidates=("$given_port")
    else
        for _ in {1..20}; do candidates+=($((first_port + RANDOM % ports))); done
    fi
    port=$(first_free "${candidates[@]}")
    [[ -n $port ]] ||
        die "error: $port_name=${candidates[0]} cannot be bound on this host (in use, or below 1024 without privileges)" \
            "$unset_it"
}
