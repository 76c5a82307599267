# Spare servers, each of which can take the place of a server of the table. Ranks and cards stay as they are.
# Expects: replaced, expected_sha256, spares and spare_names, _addresses, _entries, servers, names, addresses, table,
# python, take_spare_program. Needs list_servers, make_log_folder and find_kit.

take_spares() { # sets servers, names, addresses, master, table and table_sha256, without the spares that are taken
    local pair i place spare pairs=() answer
    for pair in ${replaced[@]+"${replaced[@]}"}; do
        place='' spare=''
        for i in "${!servers[@]}"; do [[ ${servers[i]} != "${pair%=*}" ]] || place=$i; done
        for i in "${!spares[@]}"; do [[ ${spares[i]} != "${pair##*=}" ]] || spare=$i; done
        [[ -n $place && -n $spare ]] || die "error: --replace is '$pair'; accepted: SERVER=SPARE" \
            "  servers of the table: $(list_servers)" "  spares that are left: ${spares[*]-}"
        pairs+=("${servers[place]}" "${spare_entries[spare]}")
        servers[place]=${spares[spare]} names[place]=${spare_names[spare]} addresses[place]=${spare_addresses[spare]}
        unset "spares[$spare]" "spare_names[$spare]" "spare_addresses[$spare]" "spare_entries[$spare]"
    done
    ((${#pairs[@]} > 0)) || return 0
    master=${addresses[0]}
    [[ $PWD != *.json* ]] || die "error: HCCL cannot read a table in $PWD" '  fix: start in a folder without .json'
    make_log_folder
    answer=$("$python" -I -c "$take_spare_program" "$table" "$PWD/hccl_logs" "${pairs[@]}") || exit 2
    table_sha256=${answer%% *} table=${answer#* }
    [[ -z $expected_sha256 || $expected_sha256 == "$table_sha256" ]] ||
        die "error: the table with the spares is different on this server: $table" "  expected sha256 $expected_sha256" \
            "  found    sha256 $table_sha256" '  fix: copy script and table of the first server here'
}

# For example: cards that hang, or processes of another job. What it cannot check is no reason to trust the server.
preflight_server() { # exit with 3 if it finds errors on this server
    local report code=0 kit
    find_kit || kit=(hccl-kit)
    report=$(timeout -k 1 60 "${kit[@]}" preflight "$table" --server "$server_name" --quiet </dev/null 2>&1) || code=$?
    ((code > 0)) || return 0
    [[ -z $report ]] || printf '%s\n' "$(head -n 12 <<<"$report")" >&2
    ((code == 1)) || echo "error: hccl-kit preflight could not check server $server_name: $(exit_status "$code")" >&2
    ((code != 1)) || echo "error: preflight finds errors on server $server_name" >&2
    exit 3
}
