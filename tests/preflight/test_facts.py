"""The facts of this server that must be equal on all servers."""

import subprocess
import sys
from pathlib import Path

import pytest

from hccl_kit.preflight.answer import TLS
from hccl_kit.preflight.facts import facts
from tests.places import ROOT
from tests.preflight.machines import A2, A3, Machine, machine_of
from tests.preflight.nodes import node


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return machine_of(A2, tmp_path, monkeypatch)


PYTHON = ".".join(map(str, sys.version_info[:2]))


def of_driver(machine: Machine) -> dict[str, str]:
    return {name: text for name, text in facts(machine.node()).items() if name not in ("MindSpore", "Python")}


def test_a_server_reports_its_versions_and_its_tls_setting(machine: Machine) -> None:
    assert of_driver(machine) == {"driver": "24.1.rc3", "firmware": "7.5.0.5.220", "CANN": "8.3.RC2", TLS: "off"}
    assert facts(machine.node())["Python"] == PYTHON


def test_in_a_container_versions_are_read_from_the_cards(machine: Machine) -> None:
    for name in ("driver", "firmware"):
        (machine.root / f"usr/local/Ascend/{name}/version.info").unlink()
    machine.environ["ASCEND_HOME_PATH"] = "/opt/cann"
    machine.file("opt/cann/version.cfg", "toolkit_running_version=[7.5.0.1.129:8.0.RC3]\n")
    machine.say("tls", 4, "dev_id:4, tls switch[1](0:disable, 1:enable)\n")
    assert of_driver(machine) == {"driver": "24.1.1", "firmware": "7.5.0.5.220", "CANN": "8.0.RC3", TLS: "on some"}


def test_different_firmware_versions_of_cards_are_all_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = machine_of(A3, tmp_path, monkeypatch)
    machine.change("board.5", "7.5.0.5.220", "7.1.0.5.220")
    assert facts(machine.node())["firmware"] == "7.1.0.5.220 and 7.5.0.5.220"


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
        "from tests.preflight.nodes import node; from hccl_kit.preflight.facts import facts;"
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
