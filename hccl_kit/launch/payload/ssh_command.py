"""The ssh command that starts the launch script on a server. Part of programs that launch scripts contain."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

SSH = "HCCL_KIT_SSH"
SSH_OPTIONS = (
    *("-T", "-o", "BatchMode=yes", "-o", "ConnectTimeout=10"),
    *("-o", "ServerAliveInterval=2", "-o", "ServerAliveCountMax=3"),
)
ADDRESS = re.compile(r"[A-Za-z0-9:][A-Za-z0-9_.:%-]{0,254}")
"""Addresses that ssh cannot take for an option, a user or a command."""
SSH_FAILED = 255
"""The exit code of ssh for its own failures."""
OWN_CODE = "hccl-kit: 255 is the exit code of the script"
"""A line that a server prints if its script ends with that code too."""
PASSED_ON = ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV", "CONDA_PREFIX", "LANG", "LC_ALL", "MASTER_PORT")
PREFIXES = ("ASCEND_", "HCCL_", "GLOG_", "MS_", "TOOLCHAIN_", "OMP_", "ONEDNN_", "NCCL_", "GLOO_", "TORCH_", "PYTHON")
LOCAL = ("HCCL_IF_IP", SSH, "HCCL_KIT_SERVER", "HCCL_KIT_RUN_ID", "HCCL_KIT_LOG_DIR", "HCCL_KIT_SECRET_FILE")
"""Variables that would be wrong on another server."""


class Node(NamedTuple):
    """A server: its name in the rank table, and its address for ssh."""

    name: str
    address: str


def remote_command(script: str, folder: str, node: Node, run: str, arguments: Sequence[str]) -> str:
    """The command for the remote shell: one line, with every word quoted."""
    passed = {
        name: value
        for name, value in os.environ.items()
        if (name in PASSED_ON or name.startswith(PREFIXES))
        and name not in LOCAL
        and re.fullmatch(r"\w+", name, re.ASCII)
    }
    exports = [f"export {name}={shlex.quote(value)};" for name, value in passed.items()]
    start = shlex.join(["bash", script, "--lifeline", "--run", run, "--server", node.name, *arguments])
    if is_one_screen():
        start += " 2>&1"  # keeps the order, and the script knows what is on the screen
    missing = shlex.quote(f"error: {node.name} has no {script} in {folder}; copy it to the same path on every server")
    there = f"cd {shlex.quote(folder)} 2>/dev/null && test -f {shlex.quote(script)}"
    end = f"code=$?; [ $code != {SSH_FAILED} ] || echo {shlex.quote(OWN_CODE)} >&2; exit $code"
    return " ".join([*exports, there, "||", "{ echo", missing, ">&2; exit 2; };", f"{start}; {end}"])


def is_one_screen() -> bool:
    """Whether standard output and standard error of this program go to the same place."""
    with suppress(OSError):
        return os.path.sameopenfile(1, 2)
    return False


def ssh_command(node: Node) -> tuple[str, ...]:
    """The command up to the command for the remote shell."""
    return (*shlex.split(os.environ.get(SSH) or "ssh"), *SSH_OPTIONS, "--", node.address)


def write(target: int, data: bytes) -> None:
    """Write to a descriptor; a closed terminal does not end the job."""
    with suppress(OSError):
        while data:
            data = data[os.write(target, data) :]
