# The script for vLLM, after its first line.
# A word __NAME__ stands for a text, on a line of its own for lines.

# Starts __what__. It is meant to be read and edited.
#   bash __name__ [ARGUMENT ...]     on every server; the arguments are added to the command
# It becomes vLLM: its output, signals and exit code are those of vLLM, which nothing restarts.

__begin__
hk_command=(__command__)
__server__
__options__
hk_nic=__nic__ # '': the one with the address
[[ -z $hk_address || -n $hk_nic ]] || read -r _ hk_nic _ < <(ip -o address show to "$hk_address")
hk_nic=${hk_nic%%@*}
[[ -z $hk_address || -n $hk_nic ]] || hk_fail "error: no interface of this host has $hk_address" \
    '  fix: install ip (iproute2), run pods in the network of their host, or: hccl-kit launch --nic NAME'

# What other launchers have left goes; it would override what is set here.
__environment__
[[ -z $hk_address ]] || export HCCL_IF_IP="$hk_address" \
    __interfaces__
__variables__
exec "${hk_command[@]}" "${hk_options[@]}" "$@"
