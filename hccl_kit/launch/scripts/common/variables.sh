# Selects the variables of this shell for the ranks on other servers. No value is printed.
# Expects: exported (the names of --export, separated by commas), and patterns of names: of_launchers, of_this_host,
# secret, passed_on. Needs die.

# shellcheck disable=SC2053  # on the right are patterns
select_variables() { # sets passed and asked, which are names; asked are those of --export
    local name own dropped=() more='' one='[A-Za-z_][A-Za-z0-9_]*'
    passed=() asked=()
    [[ -z $exported || $exported =~ ^$one(,$one)*$ ]] || die "error: --export is '${exported%%=*}'; accepted: names" \
        '  fix: export NAME=VALUE in this shell, then --export NAME, or NAME,NAME,... for several'
    mapfile -t own < <(compgen -e)
    IFS=, read -ra asked <<<"$exported"
    for name in ${asked[@]+"${asked[@]}"}; do
        [[ $name != $of_launchers ]] || die "error: --export names $name, which is set or removed on each server" \
            '  fix: leave it out'
        [[ " ${own[*]} " == *" $name "* ]] || die "error: --export names $name, which this shell does not export" \
            "  fix: export $name=VALUE before, or leave it out"
    done
    for name in "${own[@]}"; do
        if [[ ,$exported, == *,"$name",* || $name == $of_launchers || $name == $of_this_host ]]; then
            continue
        elif [[ $name == $passed_on && ${name^^} != $secret ]]; then
            passed+=("$name")
        else
            dropped+=("${name:0:60}")
        fi
    done
    ((${#dropped[@]} > 0)) || return 0
    ((${#dropped[@]} <= 10)) || more=" and $((${#dropped[@]} - 10)) more"
    printf -v name '%s, ' "${dropped[@]:0:10}"
    echo "note: not passed on to the other servers: ${name%, }$more (--export NAME,... passes variables on)" >&2
}
