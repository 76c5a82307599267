"""The mapping of chips to cards, for every hardware generation."""

import pytest

from hccl_kit.discovery.npu_smi_map import ChipMapping, parse
from tests.preflight.samples import sample


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
def test_the_table_of_every_generation_is_parsed(folder: str, count: int, last: ChipMapping) -> None:
    found = parse(sample(f"{folder}/npu-smi-info-m.txt"))
    assert (len(found), found[-1]) == (count, last)


def test_columns_may_be_in_another_order() -> None:
    assert parse("Chip Phy-ID  Chip ID  Chip Name  NPU ID\n6  1  Ascend 910X  3\n") == (ChipMapping(3, 1, None, 6),)


@pytest.mark.parametrize("answer", ["", "There is no NPU card on this server.\n", "NPU ID  Chip ID\n", "\t\n\t\n"])
def test_text_without_a_table_has_no_chips(answer: str) -> None:
    assert parse(answer) == ()
