"""Which variables of the shell that starts a job reach the ranks on other servers, over ssh and by mpirun.

Every table holds patterns of names, as a shell and `fnmatch` read them. They are asked in this order: variables of
launchers and of this host never go to another server, secrets only if --export names them, those that programs in ranks
read always do. Of the rest, `hccl-kit run` prints the names.

Sources, read in November 2026: the variables of CANN 9.1 (hcomm), torch_npu 2.14.0 (environment_variable pages,
OptionsManager.cpp), mindspore 2.10.0, transformers 5.24.0, accelerate 1.15.0, DeepSpeed 0.19.6 and lightning 2.6.6;
how often training scripts set them: 375 scripts of MindSpeed-LLM at c77308a1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase

from hccl_kit.base.errors import KitError
from hccl_kit.base.terminal import printable
from hccl_kit.remote.ssh import SSH_VARIABLE
from hccl_kit.runtime.worker_env import LOG_DIR, MISLEADING, NAMES, RUN_ID, SERVER


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split())


OF_LAUNCHERS = (
    *dict.fromkeys(name for field, names in NAMES.items() if field != "master_port" for name in names),
    *MISLEADING,
    *("ASCEND_VISIBLE_DEVICES", "HCCL_IF_IP", SSH_VARIABLE, SERVER, RUN_ID, LOG_DIR),
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

SECRET_WORDS = ("TOKEN", "KEY", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE", "CREDENTIAL")
SECRETS = tuple(
    pattern
    for part in SECRET_WORDS
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

KEPT = tuple(
    pattern
    for pattern in (*OF_LAUNCHERS, *OF_THIS_HOST)
    if pattern.startswith("*") or any(fnmatchcase(pattern, passed_on) for passed_on in PASSED_ON)
)
"""Those that PASSED_ON would pass on: enough for a script that decides by PASSED_ON alone."""


def is_passed_on(name: str) -> bool:
    """Whether a variable of that name reaches the ranks on other servers without --export."""
    return not (
        _matches(name, OF_LAUNCHERS) or _matches(name, OF_THIS_HOST) or _matches(name.upper(), SECRETS)
    ) and _matches(name, PASSED_ON)


def select(environ: Mapping[str, str], asked: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The variables for the ranks on other servers, those that the user has asked for among them, and the names of
    those that stay behind although they are neither of a launcher nor of this host.

    Raises KitError for a name that is not a variable of the user, or not set.
    """
    for name in asked:
        if not re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name):
            raise KitError(
                "launch.export-name",
                "--export {name}; accepted: names of variables, separated by commas",
                fix="export NAME=VALUE in this shell, then --export NAME",
                name=printable(name[:80]),
            )
        if _matches(name, OF_LAUNCHERS):
            raise KitError(
                "launch.export-of-launcher",
                "--export {name}: a launcher sets or removes it on each server",
                fix="leave it out",
                name=name,
            )
        if name not in environ:
            raise KitError(
                "launch.export-not-set",
                "--export {name}: it is not set here",
                fix="export {name}=VALUE before, or leave it out",
                name=name,
            )
    taken = {name: value for name, value in environ.items() if name in asked or is_passed_on(name)}
    left = (name for name in environ if name not in taken)
    return taken, [name for name in left if not (_matches(name, OF_LAUNCHERS) or _matches(name, OF_THIS_HOST))]


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
