"""The fake tool reproduces recorded output of the real one."""

import os
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.discovery import npu_smi
from hccl_kit.discovery.npu_smi import Place
from tests.places import FAKES
from tests.preflight.samples import sample

TOOL = str(FAKES / "npu-smi")


def recorded(sdid: object, pod: object = 0) -> str:
    rows = {"SDID": sdid, "Super Pod Size": 384, "Super Pod ID": pod, "Server Index": 1}
    return "".join(f"\t{name:<30} : {value}\n" for name, value in rows.items())


@pytest.fixture
def chips(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of the fake, with the sixteen chips of the second server of super pod 0."""
    for device in range(16):
        npu, chip = divmod(device, 2)
        (tmp_path / f"spod.{npu}.{chip}").write_text(recorded(1 << 22 | npu << 18 | chip << 16 | device))
    monkeypatch.setenv("FAKE_NPU_SMI", str(tmp_path))
    return tmp_path


def test_a_device_id_is_mapped_to_a_chip_of_an_npu(chips: Path) -> None:
    found = npu_smi.places(TOOL, [3, 0, 15])
    assert list(found.items()) == [(3, Place(4521987, 0)), (0, Place(4194304, 0)), (15, Place(6094863, 0))]
    asked = sorted((chips / "smi-log").read_text().splitlines())
    assert asked[0] == "info -t spod-info -i 0 -c 0 LC_ALL=C VISIBLE="
    assert [line.split()[3:7] for line in asked] == [["-i", n, "-c", c] for n, c in ("00", "11", "71")]


@pytest.mark.parametrize(
    "answer", ["SDID:5\nSuper Pod ID:2\n", "  SDID\t:\t5  \r\n\tSuper Pod ID : 2\r\n", recorded(5, 2) + "\n\n"]
)
def test_white_space_is_ignored(chips: Path, answer: str) -> None:
    (chips / "spod.0.0").write_text(answer)
    assert npu_smi.places(TOOL, [0]) == {0: Place(5, 2)}


def test_all_failing_cards_are_in_one_error(chips: Path) -> None:
    (chips / "spod.0.1").unlink()
    (chips / "spod.1.0").write_text(recorded(-1))
    (chips / "spod.1.1").write_text(recorded(5, 0xFFFFFFFF))
    (chips / "spod.2.0").write_text("\tChassis ID : 1\n\tSuper Pod Type : 2\n")
    (chips / "spod.2.1").write_text("")
    (chips / "spod.3.0").write_text(recorded(99_999_999_999))
    with pytest.raises(KitError) as caught:
        npu_smi.places(TOOL, range(7))
    assert caught.value.render().split("\n") == [
        f"error: {TOOL} reports no place in a super pod for 6 of 7 cards:",
        "    card 1: This device does not support querying spod-info.",
        "    card 2: SDID '-1' is not valid",
        "    card 3: Super Pod ID '4294967295' is not valid",
        "    card 4: Chassis ID : 1 Super Pod Type : 2",
        "    card 5: the tool printed nothing",
        "    card 6: SDID '99999999999' is not valid",
        "  fix: --table-version 1.0 writes a table of plain servers, which connect over RoCE",
    ]


def test_cards_in_different_super_pods_are_an_error(chips: Path) -> None:
    (chips / "spod.0.1").write_text(recorded(1, 7))
    with pytest.raises(KitError, match="reports that the cards of this server are in super pods 0, 7"):
        npu_smi.places(TOOL, [0, 1])


def test_a_tool_without_output_times_out(chips: Path) -> None:
    (chips / "hang-smi").touch()
    with pytest.raises(KitError, match=r"card 0: no answer in 0.5 s"):
        npu_smi.places(TOOL, [0], timeout=0.5)


def test_tool_is_found_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{FAKES}{os.pathsep}{os.environ['PATH']}")
    assert npu_smi.find() == TOOL


def test_rows_are_parsed_and_the_first_of_duplicate_names_is_used() -> None:
    found = npu_smi.rows(sample("a2/npu-smi-board.txt") + "\tFirmware Version               : NA\r\n")
    assert (found["Software Version"], found["Firmware Version"]) == ("24.1.1", "7.5.0.5.220")
    assert (found["Compatibility"], found["PCIe Bus Info"]) == ("OK", "0000:61:00.0")


def test_an_error_message_has_no_rows() -> None:
    assert npu_smi.rows("This device does not support querying board.\n") == {}


def test_long_runs_of_blanks_are_parsed_quickly() -> None:
    assert npu_smi.rows("a" + " " * 60_000 + "\nSDID : 7") == {"SDID": "7"}
