"""A question that a program of this package answers on other hosts: it goes there with the question."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from hccl_kit.remote.asking import Question, Reply, ask
from hccl_kit.remote.program import archive, command, python_of, pythons
from hccl_kit.remote.ssh import ssh_start

MINOR = 10
"""The oldest Python 3 of a host that answers."""


class Reach(NamedTuple):
    """How other hosts are reached: ssh up to the address, Python there (see `pythons`), and seconds for one host."""

    start: Sequence[str]
    pythons: Mapping[str, str]
    timeout: float

    @classmethod
    def of(cls, ssh_options: Sequence[str], python: Sequence[str], timeout: float) -> Reach:
        """From options of ssh, the values of --python, and HCCL_KIT_SSH. Raises KitError if one cannot be parsed."""
        return cls(ssh_start(os.environ, ssh_options), pythons(python), timeout)


class Host(NamedTuple):
    """A host by its name in the table, its address, and the arguments of the program there."""

    name: str
    address: str
    arguments: tuple[str, ...]


class Probe:
    """A module of hccl_kit that reads a question and prints the answer, and the packages that it needs.

    It needs the standard library only, of Python 3.MINOR.
    """

    def __init__(self, module: str, packages: Iterable[str]) -> None:
        self.module, self.archive = f"hccl_kit.{module}", archive(packages)

    def ask(self, reach: Reach, hosts: Sequence[Host], stdin: bytes = b"", *, quiet: bool = False) -> list[Reply]:
        """The answers of the hosts in their order; every program reads `stdin`."""
        questions = [
            Question(host.address, self.command(python_of(reach.pythons, host.name, host.address), *host.arguments))
            for host in hosts
        ]
        return ask(reach.start, questions, self.archive + stdin, timeout=reach.timeout, quiet=quiet)

    def command(self, python: str, *arguments: str) -> tuple[str, ...]:
        """The words that run it with this Python, which is sent `archive` first."""
        return command(python, self.module, *arguments, size=len(self.archive), minor=MINOR)
