"""All card rules together: no finding for a valid server, and tools that hang; `test_golden` has a mistake for each."""

import os
from pathlib import Path

import pytest

from hccl_kit.preflight.answer import inspect
from hccl_kit.preflight.probes.cards import NO_NPU
from hccl_kit.preflight.rules import NODE_RULES
from tests.preflight.machines import A2, A3, A5, GENERATIONS, Generation, Machine, machine_of, table_of
from tests.preflight.nodes import node
from tests.tables import pods_value

CARD_RULES = [rule for rule in NODE_RULES if rule.needs_server]
NO_SDID = ("HK629", "the table has no super_device_id for this server")


@pytest.mark.parametrize("generation", GENERATIONS, ids=lambda one: str(one.product))
def test_a_valid_server_of_every_generation_has_no_finding(
    generation: Generation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = machine_of(generation, tmp_path, monkeypatch).look()
    assert report.findings == ()
    skipped = {rule for rule, _ in report.skipped}
    if generation is A3:
        assert skipped == set()
    elif generation is A5:
        assert skipped == {"HK628", "HK629", "HK630", "HK631", "HK632", "HK633", "HK636"}
    else:
        assert report.skipped == (NO_SDID,)


def test_a_machine_without_npu_has_one_finding(tmp_path: Path) -> None:
    for root in (tmp_path / "nowhere", tmp_path):
        (tmp_path / "dev").mkdir(exist_ok=True)
        report = inspect(node(root=root, environ={"PATH": "/nowhere"}), CARD_RULES)
        assert [(finding.rule, finding.message) for finding in report.findings] == [
            ("HK620", "no NPU found: neither a device file in /dev nor a tool of the driver")
        ]
        assert {why for _, why in report.skipped} == {NO_NPU}


def hang(answer: Path) -> None:
    """Make a query hang: the tool reads a pipe without a writer."""
    answer.unlink()
    os.mkfifo(answer)


def test_tools_that_hang_are_queried_once(a3: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    (a3.hccn / "hang").touch()
    (a3.smi / "hang-smi").touch()
    monkeypatch.setattr("hccl_kit.preflight.node.TIMEOUTS", {"npu-smi": 4.0, "hccn_tool": 4.0})
    report = a3.look()
    assert [(finding.rule, finding.message) for finding in report.findings] == [
        ("HK624", "npu-smi info: no answer in 4 s"),
        ("HK624", "cards 0 to 15: hccn_tool -ip -g: no answer in 4 s"),
    ]
    skipped = dict(report.skipped)
    assert skipped["HK625"] == "npu-smi: no answer in 4 s"
    assert skipped["HK630"] == "hccn_tool: no answer in 4 s"
    assert len((a3.hccn / "log").read_text().splitlines()) == 16
    assert len((a3.smi / "smi-log").read_text().splitlines()) == 1


def test_a_card_that_hangs_is_named_once_and_the_others_are_inspected(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    hang(machine.hccn / "ipv4.5")
    machine.say("link", 2, "link status: DOWN\n")
    monkeypatch.setattr("hccl_kit.preflight.node.TIMEOUTS", {"hccn_tool": 4.0})
    assert machine.reported() == [
        ("HK624", "card 5: hccn_tool -ip -g: no answer in 4 s"),
        ("HK630", "card 2: link status DOWN"),
    ]


@pytest.mark.parametrize(
    ("file", "words"),
    [("link.5", "-link -g"), ("net_health.5", "-net_health -g"), ("tls.5", "-tls -g"), ("ipv6.5", "-ip -inet6 -g")],
)
def test_a_card_that_hangs_at_a_later_query_is_named_once(
    machine: Machine, file: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if file == "ipv6.5":
        (machine.hccn / "ipv4.5").unlink()
        (machine.hccn / file).touch()
    hang(machine.hccn / file)
    monkeypatch.setattr("hccl_kit.preflight.node.TIMEOUTS", {"hccn_tool": 4.0})
    (found,) = machine.found()
    assert (found.rule, found.severity, found.device) == ("HK637", "error", 5)
    assert found.message == f"card 5: hccn_tool {words}: no answer in 4 s"


def test_npu_smi_that_hangs_at_a_later_query_is_named(a3: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    hang(a3.smi / "board.3")
    monkeypatch.setattr("hccl_kit.preflight.node.TIMEOUTS", {"npu-smi": 4.0})
    assert ("HK637", "npu-smi info -t board -i 3: no answer in 4 s") in a3.reported()


def test_every_query_is_made_once(machine: Machine) -> None:
    machine.look()
    for log in (machine.hccn / "log", machine.smi / "smi-log"):
        lines = log.read_text().splitlines()
        assert sorted(lines) == sorted(set(lines))


def test_the_network_is_not_checked_for_a_single_server_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of(A2, tmp_path, monkeypatch, table_of(A2, servers=1))
    for card in range(8):
        machine.say("link", card, "link status: DOWN\n")
        (machine.hccn / f"gateway.{card}").unlink()
        (machine.hccn / f"ipv4.{card}").unlink()
    assert machine.reported() == []
    machine.environ["HCCL_INTRA_ROCE_ENABLE"] = "1"
    assert {rule for rule, _ in machine.reported()} == {"HK628", "HK630"}


def test_the_network_is_checked_only_for_several_super_pods(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of(A3, tmp_path, monkeypatch, pods_value(1, 2, 16))
    machine.say("link", 5, "link status: DOWN\n")
    assert machine.reported() == []
