"""Every HK6 rule has a folder: a server or a cluster that breaks only this rule, the report, and a valid one.

A server is JSON: its differences from a healthy one. `files` are those of its system (null: absent), `hccn_tool` and
`npu_smi` the outputs of the tools, `replace` pairs of words in them, `hangs` queries that hang. A cluster is JSON
too: the report of each server. Golden reports are written by `pytest --update-golden` only; review the diff afterwards.
"""

import json
import os
import resource
import socket
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from hccl_kit.check.report.finding_text import as_lines
from hccl_kit.discovery.server_id import interfaces
from hccl_kit.preflight.answer import Answer, inspect
from hccl_kit.preflight.cluster_rules import CLUSTER_RULES, Round, differences
from hccl_kit.preflight.machine import machine_of as described_machine
from hccl_kit.preflight.machine import node_of_all_cards
from hccl_kit.preflight.node import Node
from hccl_kit.preflight.probes.this_server import names_here
from hccl_kit.preflight.rules import NODE_RULES
from hccl_kit.preflight.site import read_site
from hccl_kit.preflight.site_rules import SITE_RULE, findings_of
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding
from tests.preflight.machines import A2, GENERATIONS, Generation, Machine, limited, machine_of, table_of
from tests.preflight.nodes import HERE, free_base

GOLDEN = Path(__file__).parent / "golden"
FOLDERS = sorted(GOLDEN.iterdir())
OF_CLUSTERS = {rule.id for rule in CLUSTER_RULES}
DEPENDS_ON_THIS_MACHINE = {"HK613", "HK614"}
"""Whether a server is valid depends on the limits and disks of the machine that runs the tests."""


@pytest.fixture(autouse=True)
def short_timeouts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hccl_kit.preflight.node.TIMEOUTS", {"npu-smi": 4.0, "hccn_tool": 4.0})


def test_every_rule_has_its_folder() -> None:
    ids = [*(rule.id for rule in NODE_RULES), *(rule.id for rule in CLUSTER_RULES), SITE_RULE.id]
    assert [folder.name for folder in FOLDERS] == sorted(ids)


def test_every_bad_subject_breaks_only_its_rule_and_matches_the_golden_report(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in FOLDERS:
        broken, names = findings(folder / "bad.json", monkeypatch)
        assert {finding.rule for finding in broken} == {folder.name}
        text = "\n".join(line for finding in broken for line in as_lines(finding, color=False)) + "\n"
        for here, name in names.items():
            text = text.replace(here, name)
        golden = folder / "bad.out"
        if request.config.getoption("--update-golden"):
            golden.write_text(text, encoding="utf-8")
        assert golden.read_text(encoding="utf-8") == text


def test_every_corrected_subject_has_no_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in FOLDERS:
        if folder.name not in DEPENDS_ON_THIS_MACHINE:
            assert findings(folder / "ok.json", monkeypatch)[0] == []


def findings(file: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[list[Finding], dict[str, str]]:
    """The findings on a subject, and the texts that depend on this machine, with their placeholders.

    A server is checked with its rule, and with all card rules if it is one of them.
    """
    described = json.loads(file.read_text(encoding="utf-8"))
    if file.parent.name in OF_CLUSTERS:
        return list(differences(cluster(described))), {}
    rules = [rule for rule in NODE_RULES if rule.id == file.parent.name]
    if any(rule.needs_server for rule in rules):
        rules = [rule for rule in NODE_RULES if rule.needs_server]
    port = str(free_base())
    with ExitStack() as stack:
        # Messages truncate long paths, and those of pytest are long.
        system = stack.enter_context(tempfile.TemporaryDirectory())
        machine = machine_of(generation(described), Path(system), monkeypatch)
        these = ", ".join(sorted(shown(name) for name in names_here() if not name.startswith(("127.", "::1"))))
        names = {these: "NAMES", str(machine.root): "ROOT", system: "FOLDER", HERE: "ADDRESS", port: "PORT"}
        names |= {interface.name: "INTERFACE" for interface in interfaces() if interface.address == HERE}
        prepare(machine, described, stack, int(port))
        path = described.get("path")
        node = machine.node(
            made=table(described),
            environ={
                **machine.environ,
                **{k: v.replace("PORT", port) for k, v in described.get("environ", {}).items()},
            },
            server=described.get("server", 0),
            path=None if path is None else Path(path.replace("FOLDER", system)),
        )
        return [*inspect(node, rules).findings, *unlike_its_site(described, machine, node)], names


def unlike_its_site(described: dict[str, Any], machine: Machine, node: Node) -> Sequence[Finding]:
    """The findings by the site rules of the subject, if it has any."""
    if "site" not in described:
        return ()
    file = machine.root.parent / "site.yaml"
    file.write_text(described["site"], encoding="utf-8")
    product = machine.generation.product
    return findings_of(described_machine(node_of_all_cards(node.root, node.environ)), read_site(file)[product])


def generation(described: dict[str, Any]) -> Generation:
    return next((generation for generation in GENERATIONS if generation.product == described.get("product")), A2)


def table(described: dict[str, Any]) -> dict[str, Any]:
    made = table_of(generation(described), described.get("servers", 2))
    if described.get("is_first_server", True) and "server_list" in made:
        made["server_list"][0]["host_ip"] = HERE
    return made


def prepare(machine: Machine, described: dict[str, Any], stack: ExitStack, port: int) -> None:
    """Set up the machine as described, until the stack is closed."""
    folder = machine.root.parent
    for name, text in described.get("files", {}).items():
        (machine.root / name).unlink() if text is None else machine.file(name, text)
    for name, mode in described.get("table_files", {}).items():
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.symlink_to("elsewhere.json") if mode == "link" else path.write_text("{}")
    for name, text in described.get("hccn_tool", {}).items():
        (machine.hccn / name).write_text(text, encoding="utf-8")
    for name, text in described.get("npu_smi", {}).items():
        machine.smi_says(name, text)
    for name, old, new in described.get("replace", []):
        machine.change(name, old, new, 1)
    for name in described.get("hangs", []):
        answer = next(place / name for place in (machine.smi, machine.hccn) if (place / name).exists())
        answer.unlink()
        os.mkfifo(answer)
    if described.get("has_tools", True) is False:
        machine.without_tools()
    for name, value in described.get("limits", {}).items():
        stack.enter_context(limited(getattr(resource, name), value))
    if described.get("listens"):
        server = stack.enter_context(socket.create_server((HERE, port)))
        server.listen()
    if "user" in described:
        stack.enter_context(mock.patch("os.geteuid", return_value=described["user"]))
    if described.get("is_privileged", True) is False and os.geteuid() == 0:
        os.seteuid(65534)
        stack.callback(os.seteuid, 0)


def cluster(described: dict[str, Any]) -> Round:
    servers = described["servers"]
    answers = [
        Answer(name, facts=server.get("facts", {}), variables=server.get("variables", {}))
        for name, server in servers.items()
    ]
    ahead = {name: server["ahead"] for name, server in servers.items() if "ahead" in server}
    return Round(answers, described.get("table", "a"), ahead, Path("/data/t.json"))
