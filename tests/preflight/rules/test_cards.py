"""All card rules together: no finding for a valid server, and one finding per mistake."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from hccl_kit.preflight.inspection import inspect
from hccl_kit.preflight.probes.cards import NO_NPU
from hccl_kit.preflight.rules import NODE_RULES
from tests.preflight.machines import A2, A3, A5, GENERATIONS, Generation, Machine, machine_of, table_of
from tests.preflight.nodes import node
from tests.tables import pods_value

CARD_RULES = [rule for rule in NODE_RULES if rule.needs_server]
IDS = [rule.id for rule in CARD_RULES]
NO_SDID = ("HK629", "the table has no super_device_id for this server")


def test_rule_ids_are_consecutive_and_unique() -> None:
    assert [f"HK{number}" for number in range(620, 620 + len(CARD_RULES))] == IDS


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
        assert [(one.rule, one.message) for one in report.findings] == [
            ("HK620", "no NPU found: neither a device file in /dev nor a tool of the driver")
        ]
        assert {why for _, why in report.skipped} == {NO_NPU}


def hang(answer: Path) -> None:
    """Make a query hang: the tool reads a pipe without a writer."""
    answer.unlink()
    os.mkfifo(answer)


def busy(machine: Machine) -> None:
    machine.change("info", "| No running processes found in NPU 3", "| 3 0 | 99999999 | python | 5 |\n|", 1)


def firmware_of_another_release(machine: Machine) -> None:
    for npu in range(8):
        machine.change(f"board.{npu}", ": OK", ": NOK")


BROKEN: dict[str, Callable[[Machine], object]] = {
    "HK620": lambda machine: (machine.root / "dev/davinci7").unlink(),
    "HK621": lambda machine: (machine.root / "dev/hisi_hdc").unlink(),
    "HK622": lambda machine: machine.environ.update(ASCEND_VISIBLE_DEVICES="0-3"),
    "HK623": lambda machine: machine.without_tools(),
    "HK624": lambda machine: hang(machine.smi / "info"),
    "HK625": lambda machine: machine.change("info", "| OK    ", "| Alarm ", 1),
    "HK626": lambda machine: machine.change("info", "| OK      ", "| Warning ", 1),
    "HK627": busy,
    "HK628": lambda machine: machine.say("ipv4", 3, "ipaddr:192.168.103.77\nnetmask:255.255.255.0\n"),
    "HK629": lambda machine: machine.change("spod.0.1", ": 65537", ": 4259841"),
    "HK630": lambda machine: machine.say("link", 5, "link status: DOWN\n"),
    "HK631": lambda machine: machine.say("net_health", 2, "net health status: Receive timeout\n"),
    "HK632": lambda machine: machine.say("netdetect", 2, "netdetect addr: 0.0.0.0\n"),
    "HK633": lambda machine: machine.say("tls", 4, "dev_id:4, tls switch[1](0:disable, 1:enable)\n"),
    "HK634": lambda machine: (machine.root / "usr/local/Ascend/driver/version.info").unlink(),
    "HK635": firmware_of_another_release,
    "HK636": lambda machine: machine.file(
        "usr/local/Ascend/driver/version.info", "Version=22.0.4\nInnerversion=V100R001C83\n"
    ),
    "HK637": lambda machine: hang(machine.hccn / "tls.5"),
    "HK638": lambda machine: machine.smi_says("info", "dcmi module initialize failed. ret is -8005\n"),
    "HK639": lambda machine: machine.file("etc/hccl_rootinfo.json", '{"version": "2.0"}'),
    "HK640": lambda machine: (machine.root / "usr/local/Ascend/driver/topo/atlas_350_3.json").unlink(),
    "HK641": lambda machine: machine.environ.update(ASCEND_VISIBLE_DEVICES="0,1,2,3,4,5,7,6"),
    "HK642": lambda machine: machine.file("etc/hccn.conf", "address_3=192.168.103.77\n"),
    "HK643": lambda machine: (machine.root / "etc/hccn.conf").mkdir(parents=True),
}


def test_every_rule_has_a_test_case() -> None:
    assert list(BROKEN) == IDS


@pytest.mark.parametrize("rule", IDS)
def test_a_mistake_is_reported_by_its_rule_only(rule: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of({"HK629": A3, "HK640": A5}.get(rule, A2), tmp_path, monkeypatch)
    if rule in ("HK624", "HK637"):
        monkeypatch.setattr("hccl_kit.preflight.tool_queries.TIMEOUTS", {"npu-smi": 4.0, "hccn_tool": 4.0})
    BROKEN[rule](machine)
    found = machine.found()
    assert {one.rule for one in found} == {rule}, found
    assert len(found) == (2 if rule == "HK623" else 1), "npu-smi and hccn_tool are two"
    assert all(one.hint for one in found)


def test_tools_that_hang_are_queried_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of(A3, tmp_path, monkeypatch)
    (machine.hccn / "hang").touch()
    (machine.smi / "hang-smi").touch()
    monkeypatch.setattr("hccl_kit.preflight.tool_queries.TIMEOUTS", {"npu-smi": 4.0, "hccn_tool": 4.0})
    report = machine.look()
    assert [(one.rule, one.message) for one in report.findings] == [
        ("HK624", "npu-smi info: no answer in 4 s"),
        ("HK624", "cards 0 to 15: hccn_tool -ip -g: no answer in 4 s"),
    ]
    skipped = dict(report.skipped)
    assert skipped["HK625"] == "npu-smi: no answer in 4 s"
    assert skipped["HK630"] == "hccn_tool: no answer in 4 s"
    assert len((machine.hccn / "log").read_text().splitlines()) == 16
    assert len((machine.smi / "smi-log").read_text().splitlines()) == 1


def test_a_card_that_hangs_is_named_once_and_the_others_are_inspected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_of(A2, tmp_path, monkeypatch)
    hang(machine.hccn / "ipv4.5")
    machine.say("link", 2, "link status: DOWN\n")
    monkeypatch.setattr("hccl_kit.preflight.tool_queries.TIMEOUTS", {"hccn_tool": 4.0})
    assert machine.reported() == [
        ("HK624", "card 5: hccn_tool -ip -g: no answer in 4 s"),
        ("HK630", "card 2: link status DOWN"),
    ]


@pytest.mark.parametrize(
    ("file", "words"),
    [("link.5", "-link -g"), ("net_health.5", "-net_health -g"), ("tls.5", "-tls -g"), ("ipv6.5", "-ip -inet6 -g")],
)
def test_a_card_that_hangs_at_a_later_query_is_named_once(
    file: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = machine_of(A2, tmp_path, monkeypatch)
    if file == "ipv6.5":
        (machine.hccn / "ipv4.5").unlink()
        (machine.hccn / file).touch()
    hang(machine.hccn / file)
    monkeypatch.setattr("hccl_kit.preflight.tool_queries.TIMEOUTS", {"hccn_tool": 4.0})
    (found,) = machine.found()
    assert (found.rule, found.severity, found.device) == ("HK637", "error", 5)
    assert found.message == f"card 5: hccn_tool {words}: no answer in 4 s"


def test_npu_smi_that_hangs_at_a_later_query_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of(A3, tmp_path, monkeypatch)
    hang(machine.smi / "board.3")
    monkeypatch.setattr("hccl_kit.preflight.tool_queries.TIMEOUTS", {"npu-smi": 4.0})
    assert ("HK637", "npu-smi info -t board -i 3: no answer in 4 s") in machine.reported()


def test_every_query_is_made_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of(A2, tmp_path, monkeypatch)
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
