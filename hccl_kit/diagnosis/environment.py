"""The environment variables that decide how a job runs, without what a bug report must not show."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hccl_kit.diagnosis.masking import Masker
from hccl_kit.diagnosis.secret_texts import HIDDEN

_NAMES = re.compile(
    r"(HCCL|ASCEND|MS|GLOG|OMPI|PMIX|PRTE|SLURM|ONEDNN|OMP|MASTER|RANK|WORLD|LOCAL|DEVICE|VC|XDL|MA)_\w+"
    r"|TORCH_(HCCL|NCCL|FR)_\w+|MINDSPORE_HCCL_CONFIG_PATH|CUDA_VISIBLE_DEVICES|NO_COLOR|FORCE_COLOR|TERM|LANG|LC_ALL|VIRTUAL_ENV"
)
_SECRET = re.compile(r"SECRET|TOKEN|PASS|KEY|CREDENTIAL|AUTH|COOKIE|SESSION|USER|ACCOUNT|EMAIL", re.IGNORECASE)
_HOST = re.compile(r"HOST|NODELIST|NODENAME|SUBMIT|MASTER_ADDR|HCCL_KIT_SERVER|LAUNCH_NODE|TOPOLOGY_ADDR|URI|URL")
_USERS = ("USER", "LOGNAME", "SUDO_USER", "SLURM_JOB_USER")
MAX_VALUE = 200
"""Characters of a value that are shown."""
_MOST = 16 * MAX_VALUE
"""Characters of a value that are masked before it is cut: marks are shorter than addresses, but not by this factor."""


def shown_variables(environ: Mapping[str, str], mask: Masker) -> dict[str, str]:
    """The variables of launchers, HCCL and CANN, masked. Loopback addresses stay."""
    return {
        name: _masked(name, environ[name][:_MOST], mask)[:MAX_VALUE]
        for name in sorted(environ)
        if _NAMES.fullmatch(name)
    }


def mask_of(environ: Mapping[str, str], host: str) -> Masker:
    """The mask for this machine: it knows its host, its user and its home folder."""
    home = environ.get("HOME", "")
    users = [*(environ.get(name, "") for name in _USERS), home.rpartition("/")[2]]
    mask = Masker([host, host.partition(".")[0]], users, home=home)
    mask.learn(value[:_MOST] for name, value in environ.items() if _NAMES.fullmatch(name))
    return mask


def _masked(name: str, value: str, mask: Masker) -> str:
    if _SECRET.search(name):
        return HIDDEN if value else ""
    return mask.host(value) if _HOST.search(name) else mask.text(value)
