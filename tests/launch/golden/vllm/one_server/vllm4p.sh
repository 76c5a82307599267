#!/usr/bin/env bash
# Starts 1 data parallel rank of 4 cards each on 1 server. It is meant to be read and edited.
#   bash vllm4p.sh [ARGUMENT ...]     on every server; the arguments are added to the command
# It becomes vLLM: its output, signals and exit code are those of vLLM, which nothing restarts.

[ "${BASH_VERSINFO:-0}" -ge 4 ] || { echo "error: start it with bash: bash $0" >&2; exit 2; } # bash 4.3
hk_fail() { printf '%s\n' "${@//[[:cntrl:]]/?}" >&2; exit 2; }
hk_command=(vllm serve /models/m)
hk_node=0 hk_cards=(4 5 6 7) # of ranks 0, 1, ...
case $hk_node in # the address of this server for HCCL ('': HCCL chooses), and the options of vLLM here
    0) hk_address=192.0.2.1
        hk_options=(--tensor-parallel-size 4) ;;
esac
hk_nic='' # '': the one with the address
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
