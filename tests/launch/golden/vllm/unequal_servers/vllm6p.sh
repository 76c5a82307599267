#!/usr/bin/env bash
# Starts 3 data parallel ranks of 2 cards each on 2 servers. It is meant to be read and edited.
#   bash vllm6p.sh [ARGUMENT ...]     on every server; the arguments are added to the command
# It becomes vLLM: its output, signals and exit code are those of vLLM, which nothing restarts.

[ "${BASH_VERSINFO:-0}" -ge 4 ] || { echo "error: start it with bash: bash $0" >&2; exit 2; } # bash 4.3
hk_fail() { printf '%s\n' "${@//[[:cntrl:]]/?}" >&2; exit 2; }
hk_command=(vllm serve /models/m)

# Which server this host is: HCCL_KIT_SERVER, or the one that has a name or address of this host.
hk_names=" ${HCCL_KIT_SERVER:-$(hostname -I) $HOSTNAME ${HOSTNAME%%.*}} "
[[ $hk_names == *" "@(fd00::1)" "* ]] && hk_nodes+=(0) hk_cards=([0]=0 1)
[[ $hk_names == *" "@(192.0.2.9)" "* ]] && hk_nodes+=(1) hk_cards=([2]=0 1 2 3)
((${#hk_nodes[@]} == 1)) || hk_fail \
    "error: this host matches ${#hk_nodes[@]} servers of the table; it has${hk_names% }" \
    '  the table has fd00::1, 192.0.2.9' '  fix: export HCCL_KIT_SERVER=ID, with the one that this host is'
hk_node=${hk_nodes[0]}

case $hk_node in # the address of this server for HCCL ('': HCCL chooses), and the options of vLLM here
    0) hk_address=fd00::1
        hk_options=(--tensor-parallel-size 2 --data-parallel-size 3 --data-parallel-size-local 1 \
    --data-parallel-address fd00::1 --data-parallel-rpc-port 23515) ;;
    1) hk_address=192.0.2.9
        hk_options=(--tensor-parallel-size 2 --data-parallel-size 3 --data-parallel-size-local 2 \
    --data-parallel-address fd00::1 --data-parallel-rpc-port 23515 --headless --data-parallel-start-rank 1) ;;
esac
hk_nic=eth0 # '': the one with the address
[[ -z $hk_address || -n $hk_nic ]] || read -r _ hk_nic _ < <(ip -o address show to "$hk_address")
hk_nic=${hk_nic%%@*}
[[ -z $hk_address || -n $hk_nic ]] || hk_fail "error: no interface of this host has $hk_address" \
    '  fix: install ip (iproute2), run pods in the network of their host, or: hccl-kit launch --nic NAME'

# What other launchers have left goes; it would override what is set here.
unset -v MINDSPORE_HCCL_CONFIG_PATH ASCEND_DEVICE_ID MS_ROLE MS_WORKER_NUM MS_SCHED_HOST MS_SCHED_PORT \
    MS_NODE_ID OMPI_COMMAND PMIX_RANK OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_RANK \
    TORCHELASTIC_USE_AGENT_STORE TORCH_NPU_ELASTIC_USE_AGENT_STORE TORCH_NPU_USE_PARALLEL_TCPSTORE \
    PROXY_AGENT_PID_USE_LOCAL_SOCKET_PATH ENABLE_TIERED_PARALLEL_TCPSTORE ACCELERATE_TORCH_DEVICE NPROC_PER_NODE \
    NNODES FORCE_TORCHRUN RANK_ID RANK RANK_SIZE WORLD_SIZE LOCAL_RANK DEVICE_NUM LOCAL_WORLD_SIZE DEVICE_ID \
    RANK_TABLE_FILE MASTER_ADDR MASTER_PORT GROUP_RANK NODE_RANK TORCHELASTIC_RUN_ID HCCL_KIT_RUN_ID \
    HCCL_KIT_LOG_DIR HCCL_KIT_RESTART HCCL_KIT_SERVER VLLM_DP_SIZE VLLM_DP_RANK VLLM_DP_RANK_LOCAL VLLM_DP_MASTER_IP \
    VLLM_DP_MASTER_PORT
hk_visible=$(IFS=,; echo "${hk_cards[*]}")
[[ ${ASCEND_RT_VISIBLE_DEVICES-$hk_visible} == "$hk_visible" ]] ||
    hk_fail "error: ASCEND_RT_VISIBLE_DEVICES=$ASCEND_RT_VISIBLE_DEVICES; the cards of this job are $hk_visible"
export ASCEND_RT_VISIBLE_DEVICES="$hk_visible"
[[ -z $hk_address ]] || export HCCL_IF_IP="$hk_address" \
    GLOO_SOCKET_IFNAME=$hk_nic TP_SOCKET_IFNAME=$hk_nic HCCL_SOCKET_IFNAME=$hk_nic
exec "${hk_command[@]}" "${hk_options[@]}" "$@"
