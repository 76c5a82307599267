"""Which variables of the shell that starts a job reach the ranks on other servers, over ssh and by mpirun.

Every table holds patterns of names, as a shell and `fnmatch` read them. They are asked in this order: variables of
launchers and of this host never go to another server, secrets only if --export names them, those that programs in ranks
read always do. Of the rest, the script prints the names.

Sources, read in November 2026: the variables of CANN 9.1 (hcomm), torch_npu 2.14.0 (environment_variable pages,
OptionsManager.cpp), mindspore 2.10.0, transformers 5.24.0, accelerate 1.15.0, DeepSpeed 0.19.6 and lightning 2.6.6;
how often training scripts set them: 375 scripts of MindSpeed-LLM at c77308a1.
"""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase

from hccl_kit.launch.payload.ssh_command import SSH
from hccl_kit.runtime.worker_env import KEY_FILE, LOG_DIR, MISLEADING, NAMES, RUN_ID, SERVER


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


OF_LAUNCHERS = (
    *dict.fromkeys(name for field, names in NAMES.items() if field != "master_port" for name in names),
    *MISLEADING,
    *("ASCEND_VISIBLE_DEVICES", "HCCL_IF_IP", SSH, SERVER, RUN_ID, LOG_DIR, KEY_FILE),
)
"""Set or removed on each server or in each rank; a value of this host would be wrong there."""

OF_THIS_HOST = _names(
    """
    HOME USER LOGNAME USERNAME SHELL PWD OLDPWD SHLVL _ HOSTNAME HOSTTYPE MACHTYPE OSTYPE MAIL TMPDIR TMP TEMP
    TERM TERM_* TERMINFO* COLORTERM LS_COLORS LSCOLORS COLUMNS LINES WINDOWID TMUX* STY VTE_* GNOME_* KDE_* GTK_* QT_*
    WSL* WT_* VSCODE_* EDITOR VISUAL PAGER LESS* HIST* MANPATH INFOPATH PS[0-9] PROMPT_* DISPLAY WAYLAND_DISPLAY
    XAUTHORITY XDG_RUNTIME_DIR XDG_SESSION_* XDG_SEAT* XDG_VTNR XDG_DATA_* XDG_CONFIG_DIRS XDG_CURRENT_DESKTOP
    XDG_MENU_PREFIX DBUS_* SSH_* GPG_* SUDO_* BASH_ENV BASHOPTS SHELLOPTS ENV IFS which_declare INVOCATION_ID
    JOURNAL_STREAM NOTIFY_SOCKET MEMORY_PRESSURE_* DEBUGINFOD_* DEBIAN_FRONTEND NVM_* CONDA_EXE CONDA_SHLVL
    CONDA_PYTHON_EXE CONDA_DEFAULT_ENV CONDA_PROMPT_MODIFIER CONDA_PREFIX_[0-9]* _CE_* _CONDA_* VIRTUAL_ENV_PROMPT
    MODULE* LOADEDMODULES _LMFILES_* LMOD_* __LMOD_* _ModuleTable* JPY_* container KUBERNETES_* *_SERVICE_HOST
    *_SERVICE_PORT *_SERVICE_PORT_* *_PORT_[0-9]*_TCP* *_PORT_[0-9]*_UDP* SLURM_* SLURMD_* SBATCH_* OMPI_* OPAL_* PMIX_*
    PMI_* PRTE_* PET_* TORCHELASTIC_* GROUP_* ROLE_* LOCAL_* RAY_ADDRESS
    """
)
"""About this host, this login or another job; nobody misses them elsewhere."""

SECRETS = tuple(
    pattern
    for part in ("TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL")
    for pattern in (f"*{part}", f"*{part}S", f"*{part}_*", f"*{part}S_*", f"*{part}[0-9]*")
)
"""Names, in upper case, of what must not be seen: HF_TOKEN, but not TOKENIZERS_PARALLELISM."""

PASSED_ON = _names(
    """
    HCCL_* HCOMM_* ASCEND_* ACL_* ATB_* LCCL_* TOOLCHAIN_* TBE_* NPU_* TASK_QUEUE_* RDMA* MS_* MINDSPORE_* GLOG_*
    TORCH_* TORCHINDUCTOR_* TORCHDYNAMO_* TORCHAIR_* PYTORCH_* OMP_* KMP_* GOMP_* MKL_* OPENBLAS_* ONEDNN_* GLOO_* TP_*
    NCCL_* UCX_* HF_* TRANSFORMERS_* TOKENIZERS_* ACCELERATE_* FSDP_* MEGATRON_LM_* PARALLELISM_CONFIG_* DS_*
    DEEPSPEED_* PL_* WANDB_* SWANLAB_* MLFLOW_* TENSORBOARD_* MODELSCOPE_* VLLM_* RAY_* HYDRA_* TRITON_* PYTHON*
    MALLOC_* LC_* COMBINED_ENABLE CPU_AFFINITY_CONF CUDA_DEVICE_MAX_CONNECTIONS INF_NAN_MODE_ENABLE
    INF_NAN_MODE_FORCE_DISABLE PER_STREAM_QUEUE STREAMS_PER_DEVICE MULTI_STREAM_MEMORY_REUSE OOM_SNAPSHOT_ENABLE
    OOM_SNAPSHOT_PATH P2P_HCCL_BUFFSIZE PROF_CONFIG_PATH KINETO_USE_DAEMON PERF_DUMP_PATH NSLB_CP PATH LD_LIBRARY_PATH
    VIRTUAL_ENV CONDA_PREFIX LANG TZ XDG_CACHE_HOME http_proxy https_proxy no_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY
    MASTER_PORT
    """
)
"""Read by HCCL, CANN, the frameworks, or the programs around them."""

PATTERNS: Mapping[str, tuple[str, ...]] = {
    "of_launchers": OF_LAUNCHERS,
    "of_this_host": OF_THIS_HOST,
    "secret": SECRETS,
    "passed_on": PASSED_ON,
}
"""Variable of a script -> its patterns. The fragment `common/variables` decides by them, as `is_passed_on` does."""


def is_passed_on(name: str) -> bool:
    """Whether a variable of that name reaches the ranks on other servers without --export."""
    return not (
        _matches(name, OF_LAUNCHERS) or _matches(name, OF_THIS_HOST) or _matches(name.upper(), SECRETS)
    ) and _matches(name, PASSED_ON)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
