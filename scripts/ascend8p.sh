#!/usr/bin/env bash
# Starts ranks 0 to 7 on cards 0, 1, 2, 3, 4, 5, 6, 7 of this server. It is meant to be read and edited.
#   bash ascend8p.sh [ARGUMENT ...]     arguments are added to the command
# Rank N writes hccl_logs/RUN/rank_N.log. The first rank that fails ends the job, which has its exit code
# (128 + signal); 0: all succeeded, 2: nothing started, 130: Ctrl-C, 143: SIGTERM, 129: SIGHUP.
# Restarts, hangs, the cause of a failure: hccl-kit run hccl_8p_01234567_127.0.0.1.json -- COMMAND

[ "${BASH_VERSINFO:-0}" -ge 4 ] || { echo "error: start it with bash: bash $0" >&2; exit 2; } # bash 4.3
hk_fail() { printf '%s\n' "${@//[[:cntrl:]]/?}" >&2; exit 2; }
hk_table=hccl_8p_01234567_127.0.0.1.json hk_digest=9a5be58081d2c876b49d16faf5e93a7868d41af43f80bf76d2d8359dfcb9befb
case ${1%%=*} in # options of hccl-kit run; arguments of such a name follow --
    --) shift ;;
    -h | --help | --max[-_]restarts | --heartbeat[-_]timeout | --log[-_]limit | --prefix | --preflight | \
    --ssh | --server | --export | --replace)
        hk_fail "error: $1 is an option of hccl-kit run" "  fix: hccl-kit run $hk_table $* -- COMMAND" ;;
esac
hk_command=(python -u tools/train.py --config configs/rec/crnn/crnn_small.yaml "$@")
hk_node=0 hk_cards=(0 1 2 3 4 5 6 7) # of ranks 0, 1, ...

hk_table=$(readlink -f -- "$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/$hk_table")
[[ $(sha256sum <"$hk_table") == "$hk_digest "* ]] ||
    hk_fail "error: $hk_table is not the table of this script" '  fix: restore it, or run hccl-gen again'

mkdir -p -m 700 hccl_logs
[[ -O hccl_logs || $(stat -c %u hccl_logs) == "$(stat -c %u .)" ]] &&
    [[ $(stat -c %A/ . hccl_logs) != *d???????w[!tT]/* ]] ||
    hk_fail "error: other users may replace the logs in $PWD/hccl_logs" '  fix: start in a folder of your own'

hk_run=$(mktemp -d "hccl_logs/$(date +%Y%m%d-%H%M%S)-XXXXXX") || hk_fail "error: cannot make a folder in $PWD/hccl_logs"
hk_logs=$PWD/$hk_run hk_run=${hk_run##*/}
[[ -e hccl_logs/latest && ! -L hccl_logs/latest ]] || ln -sfnT -- "$hk_run" hccl_logs/latest

# What other launchers have left goes; then, what all ranks have in common.
unset -v MINDSPORE_HCCL_CONFIG_PATH ASCEND_DEVICE_ID MS_ROLE MS_WORKER_NUM MS_SCHED_HOST MS_SCHED_PORT \
    MS_NODE_ID OMPI_COMMAND PMIX_RANK OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_RANK \
    TORCHELASTIC_USE_AGENT_STORE TORCH_NPU_ELASTIC_USE_AGENT_STORE TORCH_NPU_USE_PARALLEL_TCPSTORE \
    PROXY_AGENT_PID_USE_LOCAL_SOCKET_PATH ENABLE_TIERED_PARALLEL_TCPSTORE ACCELERATE_TORCH_DEVICE NPROC_PER_NODE \
    NNODES FORCE_TORCHRUN HCCL_KIT_SERVER
[[ -z ${ASCEND_RT_VISIBLE_DEVICES:-} ]] || # card numbers count all cards
    echo "note: ASCEND_RT_VISIBLE_DEVICES=$ASCEND_RT_VISIBLE_DEVICES is removed; torch needs --framework pytorch" >&2
unset -v ASCEND_RT_VISIBLE_DEVICES
until [[ -n ${MASTER_PORT:-} ]]; do # one that nobody listens on
    MASTER_PORT=$((20000 + RANDOM % 12000))
    ! (: <"/dev/tcp/127.0.0.1/$MASTER_PORT") 2>/dev/null || MASTER_PORT=""
done
export MASTER_ADDR=127.0.0.1 MASTER_PORT
export RANK_SIZE=8 WORLD_SIZE=8 DEVICE_NUM=8 LOCAL_WORLD_SIZE=8 GROUP_RANK=0 NODE_RANK=0 \
    RANK_TABLE_FILE="$hk_table" TORCHELASTIC_RUN_ID="$hk_run" HCCL_KIT_RUN_ID="$hk_run" HCCL_KIT_LOG_DIR="$hk_logs"
export ASCEND_PROCESS_LOG_PATH="${ASCEND_PROCESS_LOG_PATH:-$hk_logs/plog}" # logs of CANN
export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(($(nproc) > 8 ? $(nproc) / 8 : 1))}"

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

hk_start=(setsid) # each rank leads a process group, and dies with this script
! setpriv --pdeathsig KILL true 2>/dev/null || hk_start=(setpriv --pdeathsig KILL setsid)
hk_running=() hk_ranks=("${!hk_cards[@]}")
for hk_rank in "${hk_ranks[@]}"; do
    export RANK_ID="$hk_rank" RANK="$hk_rank" LOCAL_RANK="${#hk_pids[@]}" DEVICE_ID="${hk_cards[hk_rank]}"
    # Here is the place for variables that depend on $RANK_ID, and for numactl before the command.
    "${hk_start[@]}" "${hk_command[@]}" >"$hk_logs/rank_$hk_rank.log" 2>&1 &
    hk_pids[hk_rank]=$! hk_running[hk_rank]=$!
done
echo "ranks ${hk_ranks[0]} to ${hk_ranks[-1]} on cards ${hk_cards[*]}, OMP_NUM_THREADS=$OMP_NUM_THREADS, logs in $hk_logs"

hk_log=$hk_logs/rank_${hk_ranks[0]}.log && : >>"$hk_log" # the rank may not have begun
tail -n +1 -f -s 0.1 --pid="${hk_pids[hk_ranks[0]]}" -- "$hk_log" &
hk_screen=$! hk_code=0 && disown "$!" 2>/dev/null # it ends after the rank
hk_finish() { hk_end; timeout 2 tail -f -s 0.1 --pid="$hk_screen" /dev/null; } && trap hk_finish EXIT
while ((hk_code == 0 && ${#hk_running[@]} > 0)); do
    sleep 0.1 # `wait -n` hangs now and then when two ranks end together
    hk_alive=" $(jobs -pr | tr '\n' ' ')"
    for hk_rank in "${!hk_running[@]}"; do
        [[ $hk_alive != *" ${hk_running[hk_rank]} "* ]] || continue
        wait "${hk_running[hk_rank]}" || { hk_code=$? && break; }
        unset "hk_running[hk_rank]"
        kill -0 -- "-${hk_pids[hk_rank]}" 2>/dev/null || unset "hk_pids[hk_rank]" # a stranger may get its number
    done
done
hk_finish; ((hk_code > 0)) || exit 0
hk_log=$hk_logs/rank_$hk_rank.log hk_card=${hk_cards[hk_rank]}
printf '%(%s)T exited %s\n' -1 "$hk_rank $hk_code $hk_card $HOSTNAME" >>"$hk_logs/launcher_$hk_node" # for diagnose
hk_by="" && ((hk_code <= 128)) || hk_by=" (SIG$(kill -l "$hk_code"))"
echo "error: rank $hk_rank on card $hk_card failed with exit code $hk_code$hk_by; the end of $hk_log:" >&2
tail -c 16384 -- "$hk_log" | tail -n 20 >&2
exit "$hk_code"
# hccl-gen replaces this script if nobody has edited it: be4cb415c893d7fa63b02c017bfe7ae6382a8936f88e4a166bc975cf3fb35540
