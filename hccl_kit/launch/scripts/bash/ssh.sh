# Starts this script on all servers over ssh (--ssh), and is the other end of that on each server (--lifeline).
# Expects: servers, addresses, script, own_options, ssh_start_program; spares, spare_addresses, spare_entries, table,
# replaced and preflight for spares, of which there may be none. Needs select_variables.

start_over_ssh() { # ARGUMENT ...
    local pair passed asked options=(${own_options[@]+"${own_options[@]}"}) reserve=()
    for pair in ${replaced[@]+"${replaced[@]}"}; do options+=(--replace "$pair"); done
    if ((${#spares[@]} > 0)); then
        # shellcheck disable=SC2154  # defined together with spares
        reserve=("${spares[@]}" "${spare_addresses[@]}" "${spare_entries[@]}")
    fi
    select_variables
    exec "$python" -I -c "$ssh_start_program" "$script" "$table" "${preflight:-0}" "${passed[*]-}" "${asked[*]-}" \
        "${#servers[@]}" "${#spares[@]}" "${#options[@]}" "${servers[@]}" "${addresses[@]}" \
        ${reserve[@]+"${reserve[@]}"} ${options[@]+"${options[@]}"} "$@"
}

# The program that started this script over ssh writes a token to standard input, then heartbeats and messages.
take_lifeline() { # sets lifeline, token and descriptor 7
    read -r -t 60 -n 80 token || :
    [[ $token =~ ^[0-9a-f]{32}$ ]] || die 'error: --lifeline is internal; start the script with --ssh'
    exec 7>&1
    hold_lifeline <&0 >/dev/null 2>&1 7>&- &
    lifeline=$!
    trap 'kill "$lifeline" 2>/dev/null' EXIT
}

hold_lifeline() {
    local line
    while read -r -t 8 -n 200 line; do
        [[ -z $line ]] || echo "$line" >&8
    done
    echo 'gone -2 129' >&8
    return 129
}
