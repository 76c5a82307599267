"""The table of `npu-smi info`, for every hardware generation."""

import pytest

from hccl_kit.discovery.npu_smi_info import Chip, ChipMapping, Process, parse, parse_map
from tests.preflight.samples import sample


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
    found = parse(sample(f"{folder}/npu-smi-info.txt"))
    assert found is not None
    assert (len(found.chips), found.processes, found.is_incomplete) == (chips, (), False)
    assert (found.chips[0], found.chips[-1]) == (first, last)


def test_processes_are_read_with_and_without_name() -> None:
    found = parse(sample("a2/npu-smi-info-busy.txt"))
    assert found is not None
    assert found.processes == (
        Process(2, 0, 1333928, "", None),
        Process(3, 0, 47881, "python", None),
        Process(3, 0, 47892, "python", None),
    )
    assert found.is_incomplete


def test_chips_of_a_container_keep_their_physical_ids() -> None:
    found = parse(sample("a3/npu-smi-info-container.txt"))
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
    found = parse(text + row + "\n")
    assert found is not None
    assert found.processes == (expected,)


def test_columns_may_be_in_another_order() -> None:
    found = parse(
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
    found = parse(text)
    assert found is not None
    assert [chip.health for chip in found.chips] == ["Critical", *["OK"] * 7]


@pytest.mark.parametrize(
    "answer",
    ["", "dcmi module initialize failed. ret is -8005\n", "| NPU   Name | Health |\n", "|\n||\n", "+--+\n| x | y |\n"],
)
def test_text_without_a_table_is_not_parsed(answer: str) -> None:
    assert parse(answer) is None


def test_truncated_rows_are_skipped() -> None:
    lines = sample("a2/npu-smi-info.txt").splitlines()
    first = next(at for at, line in enumerate(lines) if line.startswith("| 1 "))
    found = parse("\n".join(lines[: first + 1]))
    assert found is not None
    assert [chip.npu for chip in found.chips] == [0]


@pytest.mark.parametrize("after", ["| 0 ", "| 1 "])
def test_a_notice_between_the_rows_hides_no_chip(after: str) -> None:
    lines = sample("a2/npu-smi-info.txt").splitlines()
    at = next(at for at, line in enumerate(lines) if line.startswith(after))
    found = parse("\n".join([*lines[: at + 1], "| NOTICE: the next restart is due |", *lines[at + 1 :]]))
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
