#!/usr/bin/env bash
# Starts ranks 0 to 3 on 2 servers with msrun of MindSpore. It is meant to be read and edited.
#   bash msrun4p.sh [ARGUMENT ...]     arguments are added to the command
# Start it on every server within 600 s. If a rank fails, its server ends, and the others end when
# MindSpore misses it.
# Rank N writes hccl_logs/RUN/worker_N.log; the first rank here is shown. The exit code is that of msrun,
# 0: all succeeded, 1: a rank failed; or 2: nothing started, 130: Ctrl-C, 143: SIGTERM, 129: SIGHUP.
# Made from the rank table with sha256 cf869eb2dc6d71707f3957e6d363be2c3981f653c86b596fe41abe89437328f7,
# which the job does not read: under msrun a rank table must not be set.

[ "${BASH_VERSINFO:-0}" -ge 4 ] || { echo "error: start it with bash: bash $0" >&2; exit 2; } # bash 4.3
hk_fail() { printf '%s\n' "${@//[[:cntrl:]]/?}" >&2; exit 2; }
type msrun python pgrep >/dev/null || hk_fail 'error: a program is not on PATH' \
    '  fix: put the bin folder of the Python that has MindSpore first on PATH; pgrep is in procps'
hk_command=(python train.py --lr 0.1 "$@")

# Which server this host is: HCCL_KIT_SERVER, or the one that has a name or address of this host.
hk_names=" ${HCCL_KIT_SERVER:-$(hostname -I) $HOSTNAME ${HOSTNAME%%.*}} "
[[ $hk_names == *" "@(192.0.2.1)" "* ]] && hk_nodes+=(0) hk_cards=([0]=4 5)
[[ $hk_names == *" "@(node2)" "* ]] && hk_nodes+=(1) hk_cards=([2]=0 1)
((${#hk_nodes[@]} == 1)) || hk_fail \
    "error: this host matches ${#hk_nodes[@]} servers of the table; it has${hk_names% }" \
    '  the table has 192.0.2.1, node2' '  fix: export HCCL_KIT_SERVER=ID, with the one that this host is'
hk_node=${hk_nodes[0]}

mkdir -p -m 700 hccl_logs
[[ -O hccl_logs || $(stat -c %u hccl_logs) == "$(stat -c %u .)" ]] || hk_fail "error: another user owns $PWD/hccl_logs"
hk_logs=$(mktemp -d "$PWD/hccl_logs/$(date +%Y%m%d-%H%M%S)-XXXXXX") || exit 2
hk_run=${hk_logs##*/}
[[ -e hccl_logs/latest && ! -L hccl_logs/latest ]] || ln -sfT -- "$hk_run" hccl_logs/latest

# What other launchers have left goes; the cards of the job are those that msrun counts from 0 on.
unset -v MINDSPORE_HCCL_CONFIG_PATH ASCEND_DEVICE_ID MS_ROLE MS_WORKER_NUM MS_SCHED_HOST MS_SCHED_PORT \
    MS_NODE_ID OMPI_COMMAND PMIX_RANK OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_RANK \
    TORCHELASTIC_USE_AGENT_STORE TORCH_NPU_ELASTIC_USE_AGENT_STORE TORCH_NPU_USE_PARALLEL_TCPSTORE \
    PROXY_AGENT_PID_USE_LOCAL_SOCKET_PATH ENABLE_TIERED_PARALLEL_TCPSTORE ACCELERATE_TORCH_DEVICE NPROC_PER_NODE \
    NNODES FORCE_TORCHRUN RANK_ID RANK RANK_SIZE WORLD_SIZE LOCAL_RANK DEVICE_NUM LOCAL_WORLD_SIZE DEVICE_ID \
    RANK_TABLE_FILE MASTER_ADDR GROUP_RANK NODE_RANK TORCHELASTIC_RUN_ID HCCL_KIT_RUN_ID HCCL_KIT_RESTART \
    HCCL_KIT_SERVER
hk_visible=$(IFS=,; echo "${hk_cards[*]}")
[[ ${ASCEND_RT_VISIBLE_DEVICES-$hk_visible} == "$hk_visible" ]] ||
    hk_fail "error: ASCEND_RT_VISIBLE_DEVICES=$ASCEND_RT_VISIBLE_DEVICES; the cards of this job are $hk_visible"
export ASCEND_RT_VISIBLE_DEVICES="$hk_visible" HCCL_KIT_LOG_DIR="$hk_logs"
export ASCEND_PROCESS_LOG_PATH="${ASCEND_PROCESS_LOG_PATH:-$hk_logs/plog}" # logs of CANN
MASTER_PORT="${MASTER_PORT:-22162}"

hk_end() { # TERM to each group, or to a rank that has none yet; what is left after 5 s is killed
    trap '' HUP INT TERM EXIT
    for hk_pid in "${hk_pids[@]}"; do kill -- "-$hk_pid" || kill "$hk_pid"; done 2>/dev/null
    for _ in {1..50}; do kill -0 -- "${hk_pids[@]}" "${hk_pids[@]/#/-}" "${hk_screen[@]}" && sleep 0.1; done 2>/dev/null
    kill -KILL -- "${hk_pids[@]}" "${hk_pids[@]/#/-}" 2>/dev/null
}
hk_stop() { # msrun leaves its workers running when it is ended, so they are listed before
    hk_msrun=$! hk_screen=()
    kill -STOP "$hk_msrun" && mapfile -t hk_pids < <(pgrep -P "$hk_msrun") && kill -KILL -- "-$hk_msrun"
    hk_end
} 2>/dev/null
trap hk_stop EXIT
trap 'exit 129' HUP && trap 'exit 130' INT && trap 'exit 143' TERM
echo "scheduler at 192.0.2.1, port $MASTER_PORT, logs in $hk_logs"
setsid msrun --worker_num 4 --local_worker_num "${#hk_cards[@]}" --master_addr 192.0.2.1 \
    --master_port "$MASTER_PORT" --node_rank "$hk_node" --join True --cluster_time_out 600 \
    --log_dir "$hk_logs" --tail_worker_log "$((hk_node * ${#hk_cards[@]}))" "${hk_command[@]}" &
wait "$!" || {
    hk_code=$?
    echo "error: msrun failed with exit code $hk_code; logs in $hk_logs" >&2
    exit "$hk_code"
}
