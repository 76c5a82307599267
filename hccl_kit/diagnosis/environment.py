"""Texts of a machine without what a bug report must not show: its mask, and the variables of its jobs."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hccl_kit.diagnosis.masking import Masker
from hccl_kit.preflight.system_settings import job_variables

_HOST = re.compile(r"HOST|NODELIST|NODENAME|SUBMIT|MASTER_ADDR|HCCL_KIT_SERVER|LAUNCH_NODE|TOPOLOGY_ADDR|URI|URL")
_USERS = ("USER", "LOGNAME", "SUDO_USER", "SLURM_JOB_USER")
MAX_VALUE = 200
"""Characters of a value that are shown. It is masked before it is cut: marks are shorter than addresses."""


def mask_of(environ: Mapping[str, str], *hosts: str) -> Masker:
    """The mask for this machine and for other hosts: it knows their names, its user and its home folder."""
    home = environ.get("HOME", "")
    users = [*(environ.get(name, "") for name in _USERS), home.rpartition("/")[2]]
    mask = Masker([*hosts, *(host.partition(".")[0] for host in hosts)], users, home=home)
    mask.learn(job_variables(environ).values())
    return mask


def masked_variables(variables: Mapping[str, str], mask: Masker) -> dict[str, str]:
    """The values as they may be shown. Loopback addresses stay."""
    return {
        name: (mask.host(value) if _HOST.search(name) else mask.text(value))[:MAX_VALUE]
        for name, value in variables.items()
    }
