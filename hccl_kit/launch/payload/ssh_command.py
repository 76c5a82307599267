"""The ssh command that starts the launch script on a server. Part of programs that launch scripts contain."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
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
HAS_PASSWORD = re.compile(r"://[^/@\s]*:[^/@\s]*@")
"""In the value of a proxy, for example."""
READ_VARIABLES = (
    'while read -r -t 60 && [[ -n $REPLY ]]; do printf -v "${REPLY%%=*}" %b "${REPLY#*=}" && export "${REPLY%%=*}"'
    ' || exit 2; done; exec bash "$0" "$@"'
)
"""What bash does before it becomes the script: it reads variables from standard input, up to an empty line."""


class Node(NamedTuple):
    """A server: its name in the rank table, and its address for ssh."""

    name: str
    address: str


class Variables(NamedTuple):
    """Variables for the script on every server: those in its command, which `ps` shows, and those that are sent to its
    standard input instead.
    """

    shown: Mapping[str, str]
    hidden: Mapping[str, str]

    @classmethod
    def select(cls, environ: Mapping[str, str], passed: Sequence[str], asked: Sequence[str]) -> Variables:
        """The variables of these names; what the user asked for, and passwords, are hidden."""
        of_names = {name: environ[name] for name in [*passed, *asked] if name in environ}
        hidden = {name for name, value in of_names.items() if name in asked or HAS_PASSWORD.search(value)}
        return cls(
            {name: value for name, value in of_names.items() if name not in hidden},
            {name: of_names[name] for name in sorted(hidden)},
        )

    @property
    def message(self) -> str:
        """The hidden variables as READ_VARIABLES reads them, and the empty line; nothing if there are none."""
        lines = [f"{name}={escaped(value)}\n" for name, value in self.hidden.items()]
        return "".join([*lines, "\n"]) if lines else ""


def escaped(value: str) -> str:
    """A value in ASCII without whitespace, for `printf %b` of bash."""
    return "".join(chr(byte) if chr(byte).isalnum() and byte < 128 else f"\\x{byte:02x}" for byte in os.fsencode(value))


def remote_command(
    script: str, folder: str, node: Node, run: str, arguments: Sequence[str], *, variables: Variables
) -> str:
    """The command for the remote shell: one line, with every word quoted."""
    exports = [f"export {name}={shlex.quote(value)};" for name, value in variables.shown.items()]
    reading = ["-c", READ_VARIABLES] if variables.hidden else []
    start = shlex.join(["bash", *reading, script, "--lifeline", "--run", run, "--server", node.name, *arguments])
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
