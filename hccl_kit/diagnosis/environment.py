"""The environment variables that decide how a job runs, without what a bug report must not show."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address

_NAMES = re.compile(
    r"(HCCL|ASCEND|MS|GLOG|OMPI|PMIX|PRTE|SLURM|ONEDNN|OMP|MASTER|RANK|WORLD|LOCAL|DEVICE|VC|XDL|MA)_\w+"
    r"|MINDSPORE_HCCL_CONFIG_PATH|CUDA_VISIBLE_DEVICES|NO_COLOR|FORCE_COLOR|TERM|LANG|LC_ALL|VIRTUAL_ENV"
)
_SECRET = re.compile(r"SECRET|TOKEN|PASS|KEY|CREDENTIAL|AUTH|COOKIE|SESSION|USER|ACCOUNT|EMAIL", re.IGNORECASE)
_HOST = re.compile(r"HOST|NODELIST|NODENAME|SUBMIT|MASTER_ADDR|HCCL_KIT_SERVER|LAUNCH_NODE|TOPOLOGY_ADDR|URI|URL")
_ADDRESS = re.compile(r"[0-9A-Fa-f]*(?:[.:]+[0-9A-Fa-f]+)+(?:::)?|[0-9A-Fa-f:]*::")
_MAC = re.compile(r"\b(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}\b")
_LOGIN = re.compile(r"//[^/@\s]+@")
MAX_VALUE = 200
"""Characters of a value that are shown."""


def shown_variables(environ: Mapping[str, str], host: str) -> dict[str, str]:
    """The variables of launchers, HCCL and CANN, with addresses, host names, secrets and the home folder masked.

    Equal addresses have equal marks. Loopback addresses stay.
    """
    marks: dict[str, str] = {}
    home = environ.get("HOME", "")
    return {
        name: _masked(name, environ[name], home, host, marks)[:MAX_VALUE]
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
    value = _MAC.sub("<address>", _LOGIN.sub("//<hidden>@", value))
    return _ADDRESS.sub(lambda match: _address(match[0], marks), value)


def _host(value: str, marks: dict[str, str]) -> str:
    """A value that is a host, an address or a list of them."""
    address = _address(value, marks)
    return address if address != value or _is_loopback(value) or not value else "<host>"


def _address(text: str, marks: dict[str, str]) -> str:
    """The mark of an address, or the text if it is not one, or means this machine."""
    try:
        address = ip_address(text)
    except ValueError:
        return _with_port(text, marks)
    if address.is_loopback or address.is_unspecified:
        return text
    return marks.setdefault(str(address), f"<address {len(marks) + 1}>")


def _with_port(text: str, marks: dict[str, str]) -> str:
    """`10.0.0.1:6000` keeps its port."""
    before, colon, port = text.rpartition(":")
    return f"{_address(before, marks)}:{port}" if colon and "." in before and ":" not in before else text


def _is_loopback(text: str) -> bool:
    try:
        return text == "localhost" or ip_address(text).is_loopback
    except ValueError:
        return False
