"""What is known of a machine, on fakes of the tools."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.preflight.answer import TLS
from hccl_kit.preflight.machine import Machine, facts, from_value, machine_of, node_of_all_cards
from tests.places import ROOT
from tests.preflight import machines
from tests.preflight.machines import GENERATIONS, Generation
from tests.preflight.machines import machine_of as fake_machine
from tests.preflight.nodes import node
from tests.preflight.samples import sample


def described(fake: machines.Machine) -> Machine:
    return machine_of(node_of_all_cards(fake.root, fake.environ))


@pytest.mark.parametrize("generation", GENERATIONS, ids=lambda generation: generation.product)
def test_all_cards_of_a_machine_are_described(
    generation: Generation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine = described(fake_machine(generation, tmp_path, monkeypatch))
    cards = machine.cards
    assert [*cards] == [str(card) for card in range(generation.cards)]
    assert {card["health"] for card in cards.values()} == {"OK"}
    assert all(card["chip"] for card in cards.values())
    assert {card["memory"] for card in cards.values()} <= {"32768 MB", "65536 MB", "44280 MB", "131072 MB"}
    assert machine.settings["product"] == generation.product


def test_what_is_wrong_with_a_card_is_in_its_facts(machine: machines.Machine) -> None:
    machine.say("link", 3, "link status: DOWN\n")
    healthy = sample("a2/npu-smi-ecc.txt")
    machine.smi_says("ecc.all", healthy)
    machine.smi_says("ecc.5.0", healthy.replace("Isolated Pages Count      : 0", "Isolated Pages Count      : 7"))
    here = described(machine)
    assert [card for card, facts in here.cards.items() if facts["link"] != "UP"] == ["3"]
    assert {facts["speed"] for facts in here.cards.values()} == {"200000 Mb/s"}
    assert [card for card, facts in here.cards.items() if facts["HBM Double Bit Isolated Pages Count"] == "7"] == ["5"]
    assert here.versions["driver"] == "24.1.rc3"
    assert here.versions["cann"] == "8.3.RC2"
    assert here.settings["TLS"] == "off"


def test_the_settings_of_the_system_are_read(machine: machines.Machine) -> None:
    machine.file("proc/sys/net/ipv4/ip_local_port_range", "32768\t60999\n")
    for core, governor in enumerate(("performance", "powersave", "powersave")):
        machine.file(f"sys/devices/system/cpu/cpu{core}/cpufreq/scaling_governor", governor + "\n")
    machine.file("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
    machine.file(
        "proc/self/mounts",
        "/dev/sda1 / ext4 rw 0 0\nnas:/a /data nfs4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n"
        "/dev/sda1 /etc/hosts ext4 rw 0 0\nfs /scratch\\040old fuse.juicefs rw 0 0\nbroken\n",
    )
    settings = described(machine).settings
    assert settings["net.ipv4.ip_local_port_range"] == "32768 60999"
    assert settings["cpu governor"] == "performance and powersave"
    assert settings["transparent huge pages"] == "madvise"
    assert {name: text for name, text in settings.items() if name.startswith("mount ")} == {
        "mount /data": "nfs4",
        "mount /scratch old": "fuse.juicefs",
    }


def test_without_tools_the_reason_is_in_the_facts(a3: machines.Machine) -> None:
    a3.without_tools()
    assert {facts["health"] for facts in described(a3).cards.values()} == {"unknown: npu-smi not found, see HK623"}


def test_a_machine_travels_as_json(machine: machines.Machine) -> None:
    here = described(machine)
    value = json.loads(json.dumps(here._asdict()))
    assert from_value(value) == here
    with pytest.raises(KitError, match="does not match the schema: versions/driver"):
        from_value({**value, "versions": {"driver": 25}})


PYTHON = ".".join(map(str, sys.version_info[:2]))


def of_driver(machine: machines.Machine) -> dict[str, str]:
    return {name: text for name, text in facts(machine.node()).items() if name not in ("MindSpore", "Python")}


def test_a_server_reports_its_versions_and_its_tls_setting(machine: machines.Machine) -> None:
    assert of_driver(machine) == {"driver": "24.1.rc3", "firmware": "7.5.0.5.220", "CANN": "8.3.RC2", TLS: "off"}
    assert facts(machine.node())["Python"] == PYTHON


def test_in_a_container_versions_are_read_from_the_cards(machine: machines.Machine) -> None:
    for name in ("driver", "firmware"):
        (machine.root / f"usr/local/Ascend/{name}/version.info").unlink()
    machine.environ["ASCEND_HOME_PATH"] = "/opt/cann"
    machine.file("opt/cann/version.cfg", "toolkit_running_version=[7.5.0.1.129:8.0.RC3]\n")
    machine.say("tls", 4, "dev_id:4, tls switch[1](0:disable, 1:enable)\n")
    assert of_driver(machine) == {"driver": "24.1.1", "firmware": "7.5.0.5.220", "CANN": "8.0.RC3", TLS: "on some"}


def test_different_firmware_versions_of_cards_are_all_reported(a3: machines.Machine) -> None:
    a3.change("board.5", "7.5.0.5.220", "7.1.0.5.220")
    assert facts(a3.node())["firmware"] == "7.1.0.5.220 and 7.5.0.5.220"


@pytest.mark.parametrize("server", [0, None])
def test_a_machine_without_npu_reports_the_available_facts(tmp_path: Path, server: int | None) -> None:
    found = facts(node(root=tmp_path, environ={"PATH": "/nowhere"}, server=server))
    assert set(found) - {"MindSpore"} == {"Python"}


def test_mindspore_is_reported_and_not_imported(tmp_path: Path) -> None:
    package = tmp_path / "mindspore-2.7.1.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: mindspore\nVersion: 2.7.1\n")
    (tmp_path / "mindspore.py").write_text("raise RuntimeError('it was imported')\n")
    code = (
        "from tests.preflight.nodes import node; from hccl_kit.preflight.machine import facts;"
        f"from pathlib import Path; print(facts(node(root=Path({str(tmp_path)!r}), environ={{}}))['MindSpore'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("2.7.1\n", "")
