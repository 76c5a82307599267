"""The environment variables that decide how a job runs, without what a bug report must not show."""

from __future__ import annotations

import re
from collections.abc import Mapping

from hccl_kit.base.network import is_loopback
from hccl_kit.diagnosis.masking import address_mark, without_addresses

_NAMES = re.compile(
    r"(HCCL|ASCEND|MS|GLOG|OMPI|PMIX|PRTE|SLURM|ONEDNN|OMP|MASTER|RANK|WORLD|LOCAL|DEVICE|VC|XDL|MA)_\w+"
    r"|TORCH_(HCCL|NCCL|FR)_\w+|MINDSPORE_HCCL_CONFIG_PATH|CUDA_VISIBLE_DEVICES|NO_COLOR|FORCE_COLOR|TERM|LANG|LC_ALL|VIRTUAL_ENV"
)
_SECRET = re.compile(r"SECRET|TOKEN|PASS|KEY|CREDENTIAL|AUTH|COOKIE|SESSION|USER|ACCOUNT|EMAIL", re.IGNORECASE)
_HOST = re.compile(r"HOST|NODELIST|NODENAME|SUBMIT|MASTER_ADDR|HCCL_KIT_SERVER|LAUNCH_NODE|TOPOLOGY_ADDR|URI|URL")
MAX_VALUE = 200
"""Characters of a value that are shown."""
_MOST = 16 * MAX_VALUE
"""Characters of a value that are masked before it is cut: marks are shorter than addresses, but not by this factor."""


def shown_variables(environ: Mapping[str, str], host: str) -> dict[str, str]:
    """The variables of launchers, HCCL and CANN, with addresses, host names, secrets and the home folder masked.

    Equal addresses have equal marks. Loopback addresses stay.
    """
    marks: dict[str, str] = {}
    home = environ.get("HOME", "")
    return {
        name: _masked(name, environ[name][:_MOST], home, host, marks)[:MAX_VALUE]
        for name in sorted(environ)
        if _NAMES.fullmatch(name)
    }


def _masked(name: str, value: str, home: str, host: str, marks: dict[str, str]) -> str:
    if _SECRET.search(name):
        return "<hidden>" if value else ""
    if _HOST.search(name):
        return _host(value, marks)
    if len(home) > 1:
        value = re.sub(rf"{re.escape(home)}(?=/|:|$)", "~", value)
    if host:
        value = re.sub(rf"(?<![\w.-]){re.escape(host)}(?![\w-])", "<host>", value)
    return without_addresses(value, marks)


def _host(value: str, marks: dict[str, str]) -> str:
    """A value that is a host, an address or a list of them."""
    address = address_mark(value, marks)
    return address if address != value or is_loopback(value) or not value else "<host>"
