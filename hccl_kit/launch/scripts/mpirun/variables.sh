# Selects the variables of this shell that mpirun passes on to the other hosts; no value is printed.
# Expects: hk_asked (names of --export), hk_options, and patterns: hk_passed_on, hk_kept, hk_secret. Needs hk_fail.

printenv "${hk_asked[@]}" >/dev/null || hk_fail "error: --export ${hk_asked[*]%%=*}: this shell does not export it" \
    '  fix: export NAME=VALUE in this shell, then --export NAME, or NAME,NAME,... for several'
for hk_name in $(compgen -e); do
    # shellcheck disable=SC2053 # on the right are patterns
    [[ " ${hk_asked[*]} " == *" $hk_name "* ]] ||
        [[ $hk_name == $hk_passed_on && $hk_name != $hk_kept && ${hk_name^^} != $hk_secret ]] || continue
    hk_options+=(-x "$hk_name")
done
