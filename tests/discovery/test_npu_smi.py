"""Outputs of npu-smi for every hardware generation; the fake tool reproduces recorded ones."""

import os
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.discovery import npu_smi
from hccl_kit.discovery.npu_smi import Chip, ChipMapping, Place, Process, info, parse_map
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


@pytest.mark.parametrize(
    ("folder", "chips", "first", "last"),
    [
        ("910", 8, Chip(0, 0, "OK", None, "910ProB", 32768), Chip(7, 0, "OK", None, "910ProB", 32768)),
        ("a2", 8, Chip(0, 0, "OK", None, "910B4", 32768), Chip(7, 0, "OK", None, "910B4", 32768)),
        ("a3", 16, Chip(0, 0, "OK", 0, "Ascend910", 65536), Chip(7, 1, "OK", 15, "Ascend910", 65536)),
        ("300i-duo", 4, Chip(2, 0, "OK", None, "310P3", 44280), Chip(5, 1, "OK", None, "310P3", 44280)),
        ("a5", 8, Chip(0, 0, "OK", None, "Ascend950PR", 131072), Chip(7, 0, "OK", None, "Ascend950PR", 131072)),
    ],
)
def test_the_table_of_every_generation_is_parsed(folder: str, chips: int, first: Chip, last: Chip) -> None:
    found = info(sample(f"{folder}/npu-smi-info.txt"))
    assert found is not None
    assert (len(found.chips), found.processes, found.is_incomplete) == (chips, (), False)
    assert (found.chips[0], found.chips[-1]) == (first, last)


def test_processes_are_read_with_and_without_name() -> None:
    found = info(sample("a2/npu-smi-info-busy.txt"))
    assert found is not None
    assert found.processes == (
        Process(2, 0, 1333928, "", None),
        Process(3, 0, 47881, "python", None),
        Process(3, 0, 47892, "python", None),
    )
    assert found.is_incomplete


def test_chips_of_a_container_keep_their_physical_ids() -> None:
    found = info(sample("a3/npu-smi-info-container.txt"))
    assert found is not None
    assert found.chips == (Chip(2, 0, "OK", 4, "Ascend910", 65536), Chip(2, 1, "Alarm", 5, "Ascend910", 65536))
    assert [(one.npu, one.chip, one.pid) for one in found.processes] == [(2, 0, 3328327), (2, 1, 3333165)]


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        # 26.0 on Atlas A3, as in vllm-ascend#12980
        (
            "| 0       0                 | 632268        | python3.1     | 197      | NA |",
            Process(0, 0, 632268, "python3.1", None),
        ),
        (
            "| 1       1                 | 632268        | a b           | 197      | 42 |",
            Process(1, 1, 632268, "a b", 42),
        ),
    ],
)
def test_the_id_inside_a_container_is_read_if_the_table_has_it(row: str, expected: Process) -> None:
    text = sample("a3/npu-smi-info.txt").replace("Process id in container", "Process id in container ")
    found = info(text + row + "\n")
    assert found is not None
    assert found.processes == (expected,)


def test_columns_may_be_in_another_order() -> None:
    found = info(
        "| Health | NPU  Extra  Name | Power |\n"
        "| Bus-Id | Phy-ID  Chip     | x     |\n"
        "| OK     | 3    7      910X | 5     |\n"
        "| 0      | 6       1        | 0     |\n"
        "| Process name | Process id | NPU     Chip |\n"
        "| python       | 12         | 3       1    |\n"
    )
    assert found is not None
    assert found.chips == (Chip(3, 1, "OK", 6, "910X"),)
    assert found.processes == (Process(3, 1, 12, "python", None),)


def test_every_health_status_is_kept() -> None:
    text = sample("a2/npu-smi-info.txt").replace("| OK            |", "| Critical      |", 1)
    found = info(text)
    assert found is not None
    assert [chip.health for chip in found.chips] == ["Critical", *["OK"] * 7]


@pytest.mark.parametrize(
    "answer",
    ["", "dcmi module initialize failed. ret is -8005\n", "| NPU   Name | Health |\n", "|\n||\n", "+--+\n| x | y |\n"],
)
def test_text_without_a_table_is_not_parsed(answer: str) -> None:
    assert info(answer) is None


def test_truncated_rows_are_skipped() -> None:
    lines = sample("a2/npu-smi-info.txt").splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("| 1 "))
    found = info("\n".join(lines[: first + 1]))
    assert found is not None
    assert [chip.npu for chip in found.chips] == [0]


@pytest.mark.parametrize("after", ["| 0 ", "| 1 "])
def test_a_notice_between_the_rows_hides_no_chip(after: str) -> None:
    lines = sample("a2/npu-smi-info.txt").splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith(after))
    found = info("\n".join([*lines[: at + 1], "| NOTICE: the next restart is due |", *lines[at + 1 :]]))
    assert found is not None
    assert [chip.npu for chip in found.chips] == list(range(8))


@pytest.mark.parametrize(
    ("folder", "count", "last"),
    [
        ("910", 8, ChipMapping(7, 0, 7, None)),
        ("a2", 8, ChipMapping(7, 0, 7, None)),
        ("a3", 16, ChipMapping(7, 1, 15, 15)),
        ("300i-duo", 4, ChipMapping(5, 1, 3, None)),
        ("a5", 8, ChipMapping(7, 0, None, 7)),
    ],
)
def test_the_mapping_of_every_generation_is_parsed(folder: str, count: int, last: ChipMapping) -> None:
    found = parse_map(sample(f"{folder}/npu-smi-info-m.txt"))
    assert (len(found), found[-1]) == (count, last)


def test_columns_of_the_mapping_may_be_in_another_order() -> None:
    assert parse_map("Chip Phy-ID  Chip ID  Chip Name  NPU ID\n6  1  Ascend 910X  3\n") == (ChipMapping(3, 1, None, 6),)


@pytest.mark.parametrize("answer", ["", "There is no NPU card on this server.\n", "NPU ID  Chip ID\n", "\t\n\t\n"])
def test_text_without_a_mapping_has_no_chips(answer: str) -> None:
    assert parse_map(answer) == ()
