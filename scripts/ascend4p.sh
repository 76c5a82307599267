#!/usr/bin/env bash
# Starts ranks 0 to 3 on cards 4, 5, 6, 7 of this server. It is meant to be read and edited.
#   bash ascend4p.sh [ARGUMENT ...]     arguments are added to the command
# Rank N writes hccl_logs/RUN/rank_N.log. The first rank that fails ends the job, which has its exit code
# (128 + signal); 0: all succeeded, 2: nothing started, 130: Ctrl-C, 143: SIGTERM, 129: SIGHUP.
# Restarts, hangs, the cause of a failure: hccl-kit run hccl_4p_4567_127.0.0.1.json -- COMMAND

[ "${BASH_VERSINFO:-0}" -ge 4 ] || { echo "error: start it with bash: bash $0" >&2; exit 2; } # bash 4.3
hk_fail() { printf '%s\n' "${@//[[:cntrl:]]/?}" >&2; exit 2; }
hk_table=$(readlink -f -- "$(dirname -- "$0")"/hccl_4p_4567_127.0.0.1.json)
[[ $(sha256sum <"$hk_table") == "89194f63a005ea103f7e3bfa7e227585d8e9f2f40b571f55cb818cf9d4b7e8d3 "* ]] || hk_fail \
    "error: $hk_table is not the table of this script" '  fix: restore it, or run hccl-gen again'
case ${1%%=*} in # arguments of such a name follow --
    --) shift ;;
    -h|--help|--max?restarts|--heartbeat?timeout|--log?limit|--prefix|--preflight|--ssh|--server|--export|--replace)
        hk_fail "error: $1 is an option of hccl-kit run" "  fix: hccl-kit run $hk_table${*:+ $*} -- COMMAND" ;;
esac
hk_command=(python -u tools/train.py --config configs/rec/crnn/crnn_small.yaml "$@")
hk_node=0 hk_cards=(4 5 6 7) # of ranks 0, 1, ...
mkdir -p -m 700 hccl_logs
[[ -O hccl_logs || $(stat -c %u hccl_logs) == "$(stat -c %u .)" ]] || hk_fail "error: another user owns $PWD/hccl_logs"
hk_logs=$(mktemp -d "$PWD/hccl_logs/$(date +%Y%m%d-%H%M%S)-XXXXXX") || exit 2
hk_run=${hk_logs##*/}
[[ -e hccl_logs/latest && ! -L hccl_logs/latest ]] || ln -sfT -- "$hk_run" hccl_logs/latest

# What other launchers have left goes; then, what all ranks have in common.
[[ -z ${ASCEND_RT_VISIBLE_DEVICES:-} ]] || # the ranks see all cards, by their numbers in the table
    echo "note: ASCEND_RT_VISIBLE_DEVICES=$ASCEND_RT_VISIBLE_DEVICES is removed; torch needs --framework pytorch" >&2
unset -v MINDSPORE_HCCL_CONFIG_PATH ASCEND_DEVICE_ID MS_ROLE MS_WORKER_NUM MS_SCHED_HOST MS_SCHED_PORT \
    MS_NODE_ID OMPI_COMMAND PMIX_RANK OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_RANK \
    TORCHELASTIC_USE_AGENT_STORE TORCH_NPU_ELASTIC_USE_AGENT_STORE TORCH_NPU_USE_PARALLEL_TCPSTORE \
    PROXY_AGENT_PID_USE_LOCAL_SOCKET_PATH ENABLE_TIERED_PARALLEL_TCPSTORE ACCELERATE_TORCH_DEVICE NPROC_PER_NODE \
    NNODES FORCE_TORCHRUN HCCL_KIT_SERVER ASCEND_RT_VISIBLE_DEVICES
export MASTER_ADDR=127.0.0.1 MASTER_PORT="${MASTER_PORT:-$((20000 + RANDOM % 12000))}"
export RANK_SIZE=4 WORLD_SIZE=4 DEVICE_NUM=4 LOCAL_WORLD_SIZE=4 GROUP_RANK=0 NODE_RANK=0 \
    RANK_TABLE_FILE="$hk_table" TORCHELASTIC_RUN_ID="$hk_run" HCCL_KIT_RUN_ID="$hk_run" HCCL_KIT_LOG_DIR="$hk_logs"
export ASCEND_PROCESS_LOG_PATH="${ASCEND_PROCESS_LOG_PATH:-$hk_logs/plog}" # logs of CANN
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(($(nproc) > 4 ? $(nproc) / 4 : 1))}"

hk_end() { # TERM to each group, or to a rank that has none yet; what is left after 5 s is killed
    trap '' HUP INT TERM EXIT
    for hk_pid in "${hk_pids[@]}"; do kill -- "-$hk_pid" || kill "$hk_pid"; done 2>/dev/null
    for _ in {1..50}; do kill -0 -- "${hk_pids[@]}" "${hk_pids[@]/#/-}" "${hk_screen[@]}" && sleep 0.1; done 2>/dev/null
    kill -KILL -- "${hk_pids[@]}" "${hk_pids[@]/#/-}" 2>/dev/null
}
hk_code=0 hk_failed='' hk_signal='' hk_ranks=("${!hk_cards[@]}")
trap hk_end EXIT && trap 'hk_code=129' HUP && trap 'hk_code=130' INT && trap 'hk_code=143' TERM
hk_start=(setpriv --pdeathsig KILL setsid) # a rank dies with this script, and leads a process group
"${hk_start[@]}" true 2>/dev/null || hk_start=(setsid)
for hk_rank in "${hk_ranks[@]}"; do
    export RANK_ID="$hk_rank" RANK="$hk_rank" LOCAL_RANK="${#hk_pids[@]}" DEVICE_ID="${hk_cards[hk_rank]}"
    # Here is the place for variables that depend on $RANK_ID, and for numactl before the command.
    "${hk_start[@]}" "${hk_command[@]}" >"$hk_logs/rank_$hk_rank.log" 2>&1 &
    hk_pids[hk_rank]=$! hk_running[hk_rank]=$!
done
echo "ranks ${hk_ranks[0]} to $hk_rank on cards ${hk_cards[*]}, OMP_NUM_THREADS=$OMP_NUM_THREADS, logs in $hk_logs"
tail -n +1 -F -s 0.1 --pid="${hk_pids[hk_ranks[0]]}" -- "$hk_logs/rank_${hk_ranks[0]}.log" 2>/dev/null &
hk_screen=("$!") # it ends after the rank
while ((hk_code == 0 && ${#hk_running[@]} > 0)); do
    sleep 0.1 # `wait -n` hangs now and then when two ranks end together
    for hk_rank in "${!hk_running[@]}"; do
        kill -0 "${hk_running[hk_rank]}" 2>/dev/null && continue
        wait "${hk_running[hk_rank]}" || { hk_code=$? hk_failed=$hk_rank && break; }
        kill -0 -- "-${hk_pids[hk_rank]}" 2>/dev/null || unset "hk_pids[hk_rank]" # another process may get its number
        unset "hk_running[hk_rank]"
    done
done
hk_end
[[ -n $hk_failed ]] || exit "$hk_code"
hk_log=$hk_logs/rank_$hk_failed.log hk_card=${hk_cards[hk_failed]}
printf '%(%s)T exited %s\n' -1 "$hk_failed $hk_code $hk_card $HOSTNAME" >>"$hk_logs/launcher_$hk_node" # for diagnose
((hk_code <= 128)) || hk_signal=" (SIG$(kill -l "$hk_code"))"
echo "error: rank $hk_failed on card $hk_card failed with exit code $hk_code$hk_signal; the end of $hk_log:" >&2
tail -c 16384 -- "$hk_log" | tail -n 20 >&2
exit "$hk_code"
# hccl-gen replaces this script if nobody has edited it: 453ca849bc2a20cae63a2bd752f42d1502000feaf053d5bf64215394210469cb
