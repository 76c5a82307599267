# The cards that CANN shows to a process: those of the job on this server, and no others.
# Expects: visible_name, the variable.

check_visible() { # FUNCTION that ends the script with a message, LIST of the job's cards, ascending, [other LIST ...]
    local given list
    [[ -n ${!visible_name+set} ]] || return 0
    for list in "${@:2}"; do [[ ${!visible_name} != "$list" ]] || return 0; done
    given=${!visible_name//[[:cntrl:]]/?}
    "$1" "error: $visible_name=${given:0:80} on $HOSTNAME; the cards of this job are $2" \
        "  fix: unset $visible_name, or set it to $2; for other cards, generate table and script with them"
}
