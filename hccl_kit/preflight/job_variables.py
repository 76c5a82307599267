"""The environment variables that decide how a job runs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hccl_kit.base.secret_texts import HIDDEN

_NAMES = re.compile(
    r"(HCCL|HCOMM|ASCEND|MS|GLOG|OMPI|PMIX|PRTE|SLURM|ONEDNN|OMP|MASTER|RANK|WORLD|LOCAL|DEVICE|VC|XDL|MA)_\w+"
    r"|TORCH_(HCCL|NCCL|FR)_\w+|MINDSPORE_HCCL_CONFIG_PATH|CUDA_VISIBLE_DEVICES|NO_COLOR|FORCE_COLOR|TERM|LANG|LC_ALL|VIRTUAL_ENV"
)
_SECRET = re.compile(r"SECRET|TOKEN|PASS|KEY|CREDENTIAL|AUTH|COOKIE|SESSION|USER|ACCOUNT|EMAIL", re.IGNORECASE)
_MAX_NAME = 100
MAX_VALUE = 3200
"""Characters of a value that are read."""


def job_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables of launchers, HCCL and CANN by name; what may be a secret is hidden."""
    return {
        name: HIDDEN if _SECRET.search(name) and environ[name] else environ[name][:MAX_VALUE]
        for name in sorted(environ)
        if len(name) <= _MAX_NAME and _NAMES.fullmatch(name)
    }
