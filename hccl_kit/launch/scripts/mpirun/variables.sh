# Selects the variables of this shell that mpirun passes on to the other hosts; no value is printed.
# Expects: hk_asked (names of --export), hk_options. Needs hk_fail. Words __NAME__ stand for patterns.

# Variables that go to the other hosts, as patterns of names, and which of these do so by --export only.
hk_passed_on="@(\
__passed_on__)"
hk_kept="@(\
__kept__)"
hk_secret="*@(__secret__)?(S)?([_0-9]*)"
printenv "${hk_asked[@]}" >/dev/null || hk_fail "error: --export ${hk_asked[*]%%=*}: this shell does not export it" \
    '  fix: export NAME=VALUE in this shell, then --export NAME, or NAME,NAME,... for several'
for hk_name in $(compgen -e); do
    # shellcheck disable=SC2053 # on the right are patterns
    [[ " ${hk_asked[*]} " == *" $hk_name "* ]] ||
        [[ $hk_name == $hk_passed_on && $hk_name != $hk_kept && ${hk_name^^} != $hk_secret ]] || continue
    hk_options+=(-x "$hk_name")
done
