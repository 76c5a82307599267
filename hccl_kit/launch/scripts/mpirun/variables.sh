# Selects the variables of this shell that mpirun passes on to the other hosts; no value is printed.
# Expects: hk_asked (names of --export), hk_options, and patterns: hk_of_launchers, hk_of_this_host, hk_secret,
# hk_passed_on. Needs hk_fail.

mapfile -t hk_own < <(compgen -e)
for hk_name in ${hk_asked//,/ }; do
    # shellcheck disable=SC2053  # on the right are patterns, here and below
    [[ " ${hk_own[*]} " == *" $hk_name "* && $hk_name != $hk_of_launchers ]] ||
        hk_fail "error: --export ${hk_name%%=*}: this shell does not export it, or each host has its own" \
            '  fix: export NAME=VALUE in this shell, then --export NAME, or NAME,NAME,... for several'
done
hk_kept=()
# shellcheck disable=SC2053
for hk_name in "${hk_own[@]}"; do
    if [[ ,$hk_asked, == *,"$hk_name",* ]]; then
        hk_options+=(-x "$hk_name")
    elif [[ $hk_name == $hk_passed_on && $hk_name != $hk_of_launchers && $hk_name != $hk_of_this_host &&
        ${hk_name^^} != $hk_secret ]]; then
        hk_options+=(-x "$hk_name")
    elif [[ $hk_name != $hk_of_launchers && $hk_name != $hk_of_this_host ]]; then
        hk_kept+=("${hk_name:0:60}")
    fi
done
((${#hk_kept[@]} == 0)) ||
    echo "note: not passed on to the other hosts: ${hk_kept[*]:0:10}${hk_kept[10]:+ and more} (--export NAME,... passes variables on)" >&2
