# Finds the network interface of this server.
# Expects: hk_address, hk_nic (empty: the interface that has the address). Needs hk_fail.

[[ -z $hk_address || -n $hk_nic ]] || read -r _ hk_nic _ < <(ip -o address show to "$hk_address")
hk_nic=${hk_nic%%@*}
[[ -z $hk_address || -n $hk_nic ]] || hk_fail "error: no interface of this host has $hk_address" \
    '  fix: install ip (iproute2), run pods in the network of their host, or: hccl-kit launch --nic NAME'
