"""Missing parts of the driver in a container are named."""

import os
import tempfile
from pathlib import Path

import pytest

from hccl_kit.preflight.node import CannotTellError
from hccl_kit.preflight.probes.cards import info
from hccl_kit.preflight.rules.driver_access import device_file_closed, tool_missing, tool_silent, tool_unusable
from tests.preflight.machines import A2, Machine, machine_of
from tests.preflight.nodes import faults, messages


def test_missing_files_are_one_line_with_the_container_options(machine: Machine) -> None:
    for name in ("davinci_manager", "hisi_hdc"):
        (machine.root / "dev" / name).unlink()
    (found,) = faults(device_file_closed, machine.node())
    assert found.message == "davinci_manager and hisi_hdc are not in /dev"
    assert found.hint == "in a container, start it with: --device=/dev/davinci_manager --device=/dev/hisi_hdc"


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user for a moment")
def test_files_without_permission_are_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory() as name:  # folders of pytest are not accessible to other users
        folder = Path(name)
        folder.chmod(0o755)
        machine = machine_of(A2, folder, monkeypatch)
        for path in (machine.root / "dev").iterdir():
            path.chmod(0o666 if path.name == "devmm_svm" else 0o600)
        os.seteuid(65534)
        try:
            found = messages(device_file_closed, machine.node())
        finally:
            os.seteuid(0)
    assert found == ["this user may not read and write davinci_manager, hisi_hdc, davinci0 and 7 more in /dev"]


@pytest.mark.parametrize(("user", "advice"), [(0, "--cap-add DAC_OVERRIDE"), (1000, "usermod -aG HwHiAiUser USER")])
def test_root_without_its_capability_is_told_so(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, user: int, advice: str
) -> None:
    monkeypatch.setattr(os, "access", lambda *_, **__: False)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    (found,) = faults(device_file_closed, machine.node())
    assert advice in (found.hint or "")


def test_missing_tools_are_two_lines_for_any_number_of_cards(machine: Machine) -> None:
    machine.without_tools()
    first, second = faults(tool_missing, machine.node())
    assert first.message == "npu-smi not found; health, processes and super pods are not checked"
    assert second.message == (
        "hccn_tool not found; links, gateways and TLS are not checked, and there is no /etc/hccn.conf"
    )
    assert "-v /etc/hccn.conf:/etc/hccn.conf:ro" in (second.hint or "")
    assert "-v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi" in (first.hint or "")
    machine.file("etc/hccn.conf", "address_0=192.168.100.1\n")
    assert messages(tool_missing, machine.node())[1].endswith("; addresses are taken from /etc/hccn.conf")


def test_tools_in_their_default_folders_are_found(machine: Machine) -> None:
    machine.without_tools()
    machine.file("usr/local/sbin/npu-smi", "#!/bin/sh\n")
    machine.file("usr/local/Ascend/driver/tools/hccn_tool", "#!/bin/sh\n")
    assert messages(tool_missing, machine.node()) == []
    assert messages(tool_silent, machine.node()) == []
    assert messages(tool_unusable, machine.node()) == [
        "npu-smi info: the tool cannot be started: Permission denied",
        "cards 0 to 7: hccn_tool -ip -g: the tool cannot be started: Permission denied",
    ]


def test_hccn_tool_is_not_required_on_950(a5: Machine) -> None:
    assert messages(tool_silent, a5.node()) == []
    assert not (a5.hccn / "log").exists()
    a5.without_tools()
    assert len(messages(tool_missing, a5.node())) == 1


def test_hccn_tool_without_addresses_works_and_one_with_errors_does_not(machine: Machine) -> None:
    (machine.hccn / "ipv4.2").unlink()  # the output is "no ip was preset there"
    assert messages(tool_unusable, machine.node()) == []
    machine.say("ipv4", 2, "dsmi init failed\n")
    (found,) = faults(tool_unusable, machine.node())
    assert (found.message, found.device) == ("card 2: hccn_tool -ip -g: dsmi init failed", 2)


def test_a_table_without_chips_is_an_error(machine: Machine) -> None:
    lines = (machine.smi / "info").read_text().splitlines(keepends=True)
    end = next(at for at, line in enumerate(lines) if line.startswith("| 0 "))
    machine.smi_says("info", "".join(lines[:end]))
    assert messages(tool_unusable, machine.node()) == ["npu-smi info: it lists no chip"]
    with pytest.raises(CannotTellError, match="see HK638"):
        info(machine.node())
