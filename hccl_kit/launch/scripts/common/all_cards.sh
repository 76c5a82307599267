# CANN shows all cards of the server to a process, because DEVICE_ID is a number among all of them.
# Expects: visible_name, the variable that would hide some.

show_all_cards() {
    local given
    [[ -n ${!visible_name+set} ]] || return 0
    given=${!visible_name//[[:cntrl:]]/?}
    unset -v "$visible_name"
    echo "note: $visible_name=${given:0:80} is removed, because the card numbers of the ranks count all cards;" \
        "programs of torch need hccl-gen or hccl-kit launch with --framework pytorch" >&2
}
