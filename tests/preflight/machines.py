"""Fake servers with NPUs: a folder as their root, and fake driver tools on PATH that read it."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from hccl_kit.preflight.answer import Report, inspect
from hccl_kit.preflight.node import Node
from hccl_kit.preflight.probes.cards import CONTROLS
from hccl_kit.preflight.rules import NODE_RULES
from hccl_kit.table.finding import Finding
from tests.places import FAKES
from tests.preflight.nodes import NOTHING, node
from tests.preflight.samples import sample
from tests.tables import pods_value, ranks_value, sdid, value


class Generation(NamedTuple):
    """A product, the folder of its samples, its cards per server, and its chips per NPU."""

    product: str
    folder: str
    cards: int = 8
    chips: int = 1


GENERATIONS = (
    Generation("910", "910"),
    Generation("a2", "a2"),
    Generation("a3", "a3", cards=16, chips=2),
    Generation("300i-duo", "300i-duo", cards=4, chips=2),
    Generation("a5", "a5"),
)
A2, A3, DUO, A5 = GENERATIONS[1:]


class Machine:
    """A healthy server of this `generation`; tests modify what they test.

    `root` has dev, etc, proc and usr; `hccn` and `smi` are the data folders of the fake tools.
    """

    def __init__(self, folder: Path, generation: Generation, table: Mapping[str, Any]) -> None:
        self.generation = generation
        self.table = table
        self.root, self.hccn, self.smi = (folder / name for name in ("root", "hccn", "smi"))
        for place in (self.root, self.hccn, self.smi):
            place.mkdir()
        self.environ = {"PATH": f"{FAKES}{os.pathsep}{os.environ['PATH']}", "HOME": "/root"}
        for name in CONTROLS:
            self.file(f"dev/{name}", "")
        for card in range(generation.cards):
            self.file(f"dev/davinci{card}", "")
        self._tools()
        self._packages()

    def file(self, name: str, text: str) -> Path:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def say(self, word: str, card: int, text: str) -> None:
        """Set the output of `hccn_tool -i CARD -WORD -g`; "ipv4" for -ip."""
        (self.hccn / f"{word}.{card}").write_text(text, encoding="utf-8")

    def smi_says(self, name: str, text: str) -> None:
        (self.smi / name).write_text(text, encoding="utf-8")

    def change(self, name: str, old: str, new: str, count: int = -1) -> None:
        """Replace text in the output of npu-smi."""
        text = (self.smi / name).read_text(encoding="utf-8")
        assert old in text
        self.smi_says(name, text.replace(old, new, count))

    def without_tools(self) -> None:
        self.environ["PATH"] = "/nowhere"

    def node(self, **given: Any) -> Node:
        product = self.generation.product
        fields: dict[str, Any] = {
            "made": self.table,
            "environ": self.environ,
            "product": product,
            "root": self.root,
            **given,
        }
        return node(**fields)

    def look(self, **given: Any) -> Report:
        return inspect(self.node(**given), [rule for rule in NODE_RULES if rule.needs_server])

    def found(self, **given: Any) -> list[Finding]:
        return list(self.look(**given).findings)

    def reported(self, **given: Any) -> list[tuple[str, str]]:
        """Rule and message of every finding."""
        return [(one.rule, one.message) for one in self.found(**given)]

    def _tools(self) -> None:
        folder = self.generation.folder
        self.smi_says("info", sample(f"{folder}/npu-smi-info.txt"))
        self.smi_says("map", sample(f"{folder}/npu-smi-info-m.txt"))
        for npu in range(self.generation.cards):
            self.smi_says(f"board.{npu}", sample("a2/npu-smi-board.txt"))
        servers = self.table.get("server_list", [{"device": []}])  # version 2.0 has no server list
        for device in servers[0]["device"]:
            card, address = int(device["device_id"]), device["device_ip"]
            self.say("ipv4", card, f"ipaddr:{address}\nnetmask:255.255.255.0\n")
            for word in ("link", "speed", "net_health", "netdetect", "gateway", "tls"):
                self.say(word, card, sample(f"a2/hccn-{word}.txt").replace("dev_id:0", f"dev_id:{card}"))
            npu, chip = divmod(card, 2)
            rows = {"SDID": sdid(0, card), "Super Pod Size": 384, "Super Pod ID": 0, "Server Index": 0}
            self.smi_says(f"spod.{npu}.{chip}", "".join(f"\t{name:<30} : {number}\n" for name, number in rows.items()))

    def _packages(self) -> None:
        home = "usr/local/Ascend"
        if self.generation is A5:
            self.file(f"{home}/driver/topo/atlas_350_3.json", "{}")
        self.file(f"{home}/driver/version.info", sample("a2/driver.info"))
        self.file(f"{home}/firmware/version.info", sample("a2/firmware.info"))
        self.file(
            f"{home}/ascend-toolkit/latest/aarch64-linux/ascend_toolkit_install.info", sample("a2/cann-install.info")
        )


def table_of(generation: Generation, servers: int = 2) -> dict[str, Any]:
    """A valid table of servers of this `generation`; on A3 each is a super pod, Atlas 950 has none."""
    if generation is A3:
        return pods_value(servers, 1, generation.cards)
    if generation is A5:
        return ranks_value(generation.cards)
    return value(servers, generation.cards)


def machine_of(
    generation: Generation,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    table: Mapping[str, Any] = NOTHING,
) -> Machine:
    """A machine with working tools, until the end of the test."""
    made = Machine(folder, generation, table or table_of(generation))
    monkeypatch.setenv("FAKE_HCCN", str(made.hccn))
    monkeypatch.setenv("FAKE_NPU_SMI", str(made.smi))
    return made


@contextmanager
def limited(which: int, value: int) -> Iterator[None]:
    before = resource.getrlimit(which)
    resource.setrlimit(which, (value, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(which, before)
