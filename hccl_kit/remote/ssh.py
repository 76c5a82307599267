"""The words of an ssh command."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence

from hccl_kit.base.errors import KitError
from hccl_kit.base.host_name import is_host
from hccl_kit.base.message import Message

SSH_VARIABLE = "HCCL_KIT_SSH"
"""The command in the place of `ssh`, such as `ssh -F FILE -p 2222`."""
CONNECT = 10
"""Seconds until ssh gives up connecting."""
SILENCE = 6
"""Seconds after which ssh ends a connection whose other side does not answer."""
OPTIONS = (
    *("-T", "-o", "BatchMode=yes", "-o", f"ConnectTimeout={CONNECT}"),
    *("-o", f"ServerAliveInterval={SILENCE // 3}", "-o", "ServerAliveCountMax=3"),
)


def ssh_start(environ: Mapping[str, str], options: Sequence[str] = ()) -> tuple[str, ...]:
    """The command up to the address: HCCL_KIT_SSH in the place of `ssh`, and -o for each of `options`.

    Raises KitError if HCCL_KIT_SSH cannot be parsed.
    """
    try:
        start = shlex.split(environ.get(SSH_VARIABLE) or "ssh")
    except ValueError as error:
        raise KitError(
            "remote.ssh-command",
            "{variable} cannot be parsed as a command: {reason}",
            variable=SSH_VARIABLE,
            reason=error,
        ) from error
    return (*start, *(word for option in options for word in ("-o", option)), *OPTIONS)


def over_ssh(start: Sequence[str], address: str, command: Sequence[str]) -> tuple[str, ...]:
    """The command that runs `command` on another host; `start` is from `ssh_start`, the address has no `refusal`."""
    return (*start, "--", address, shlex.join(command))


def refusal(address: str) -> str | None:
    """Why ssh is not given this address; None if it is."""
    return None if is_host(address) else Message("remote.address", "not a valid address or host name for ssh")
