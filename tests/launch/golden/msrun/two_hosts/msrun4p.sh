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
hk_command=(python train.py --lr 0.1 "$@")

# Which server this host is: HCCL_KIT_SERVER, or the one that has a name or address of this host.
hk_names=("${HCCL_KIT_SERVER:-}") hk_found=()
[[ -n ${hk_names[0]} ]] || read -ra hk_names -d "" < <(hostname -I; echo "$HOSTNAME ${HOSTNAME%%.*}")
for hk_name in "${hk_names[@]}"; do
    case $hk_name in # hk_found[server], and the cards of its ranks
        (192.0.2.1) hk_found[0]=1 hk_cards=([0]=4 5) ;;&
        (node2) hk_found[1]=1 hk_cards=([2]=0 1) ;;&
    esac
done
((${#hk_found[@]} == 1)) || hk_fail \
    "error: this host matches ${#hk_found[@]} servers of the table; it has ${hk_names[*]}" \
    '  the table has 192.0.2.1, node2' '  fix: export HCCL_KIT_SERVER=ID, with the one that this host is'
hk_node=${!hk_found[*]}

for hk_name in msrun python pgrep; do
    command -v "$hk_name" >/dev/null || hk_fail "error: $hk_name is not on PATH" \
        '  fix: put the bin folder of the Python that has MindSpore first on PATH; pgrep is in procps'
done

mkdir -p -m 700 hccl_logs
[[ -O hccl_logs || $(stat -c %u hccl_logs) == "$(stat -c %u .)" ]] &&
    [[ $(stat -c %A/ . hccl_logs) != *d???????w[!tT]/* ]] ||
    hk_fail "error: other users may replace the logs in $PWD/hccl_logs" '  fix: start in a folder of your own'

hk_run=$(mktemp -d "hccl_logs/$(date +%Y%m%d-%H%M%S)-XXXXXX") || hk_fail "error: cannot make a folder in $PWD/hccl_logs"
hk_logs=$PWD/$hk_run hk_run=${hk_run##*/}
[[ -e hccl_logs/latest && ! -L hccl_logs/latest ]] || ln -sfnT -- "$hk_run" hccl_logs/latest

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
MASTER_PORT="${MASTER_PORT:-22162}" # by the table, the same on all servers

hk_pids=()
hk_end() { # TERM for all that was started, and KILL after 5 s
    trap '' HUP INT TERM
    for hk_signal in TERM $(yes 0 | head -50) KILL; do # 0 asks whether any is left
        # A job that has no group yet gets the signal itself; with both it would get two.
        # shellcheck disable=SC2046  # one word for each
        kill -s "$hk_signal" -- "${hk_pids[@]/#/-}" $(jobs -pr | while read -r hk_job; do
            kill -0 -- "-$hk_job" 2>/dev/null || echo "$hk_job"; done) 2>/dev/null || return
        sleep 0.1
    done
}
trap hk_end EXIT
trap 'exit 129' HUP && trap 'exit 130' INT && trap 'exit 143' TERM

hk_msrun='' # while it runs
hk_workers() { # msrun leaves them running when it is ended, so they are found before
    if kill -STOP "$hk_msrun" 2>/dev/null; then
        mapfile -t hk_pids < <(pgrep -P "$hk_msrun")
        kill -KILL -- "-$hk_msrun"
    fi
}
trap 'hk_workers; hk_end' EXIT

echo scheduler at 192.0.2.1, port "$MASTER_PORT", logs in "$hk_logs"
setsid msrun --worker_num 4 --local_worker_num "${#hk_cards[@]}" --master_addr 192.0.2.1 \
    --master_port "$MASTER_PORT" --node_rank "$hk_node" --join True --cluster_time_out 600 \
    --log_dir "$hk_logs" --tail_worker_log "$((hk_node * ${#hk_cards[@]}))" "${hk_command[@]}" &
hk_msrun=$!
wait "$hk_msrun"
hk_code=$? hk_msrun=''
((hk_code == 0)) || {
    echo "error: msrun failed with exit code $hk_code; logs in $hk_logs" >&2
    exit "$hk_code"
}
