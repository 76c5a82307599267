"""Detection of the present cards, and their names in messages."""

import re

import pytest

from hccl_kit.preflight.node import CannotTellError
from hccl_kit.preflight.probes.cards import findings_on_cards, here, ids_in_dev, info, named, physical_ids
from hccl_kit.table.finding import Finding
from tests.preflight.machines import Machine


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([3], "card 3"),
        ([0, 1], "cards 0 to 1"),
        (range(8), "cards 0 to 7"),
        ([6, 0, 1, 2], "cards 0 to 2 and 6"),
        ([1, 3, 5], "cards 1, 3 and 5"),
    ],
)
def test_cards_are_listed_as_ranges(ids: list[int], expected: str) -> None:
    assert named(ids) == expected


def test_equal_texts_are_merged_and_a_single_card_is_the_device() -> None:
    assert list(findings_on_cards({0: "a", 1: "b", 2: "a"}, "h")) == [
        Finding("cards 0 and 2: a", "h"),
        Finding("card 1: b", "h", device=1),
    ]
    assert list(findings_on_cards({})) == []


def places(machine: Machine) -> dict[tuple[int, int], int]:
    where = machine.node()
    return dict(physical_ids(where, info(where).chips))


def test_only_numbered_devices_in_dev_are_cards(a3: Machine) -> None:
    a3.file("dev/davinci", "")
    a3.file("dev/davinci3a", "")
    assert ids_in_dev(a3.node()) == tuple(range(16))


def test_a3_reports_the_physical_id(a3: Machine) -> None:
    assert places(a3) == {(device // 2, device % 2): device for device in range(16)}
    assert "info -m " not in (a3.smi / "smi-log").read_text()


def test_950_reports_the_physical_id_in_its_map(a5: Machine) -> None:
    a5.change("map", f"{'7':<30} Ascend950PR", f"{'63':<30} Ascend950PR", 1)
    assert places(a5)[7, 0] == 63


def test_cards_of_300i_duo_are_counted_over_its_slots(duo: Machine) -> None:
    assert places(duo) == {(2, 0): 0, (2, 1): 1, (5, 0): 2, (5, 1): 3}


@pytest.mark.parametrize("logic", [range(4), range(4, 8)], ids=["counted anew", "as on the host"])
def test_cards_of_a_container_keep_their_physical_ids(machine: Machine, logic: range) -> None:
    for card in range(4):
        (machine.root / f"dev/davinci{card}").unlink()
    text = (machine.smi / "info").read_text()
    cards = re.split(r"(?m)(?=^\| [0-7]     910B4)", text)
    machine.smi_says("info", "".join(part for part in cards if not re.match(r"\| [0-3]     ", part)))
    rows = "".join(f"\t{4 + i:<30} {0:<30} {number:<30} Ascend 910B4\n" for i, number in enumerate(logic))
    machine.smi_says("map", f"\t{'NPU ID':<30} {'Chip ID':<30} {'Chip Logic ID':<30} Chip Name\n{rows}")
    assert places(machine) == {(npu, 0): npu for npu in range(4, 8)}


def test_a_chip_without_a_known_card_is_skipped(duo: Machine) -> None:
    duo.smi_says("map", "There is no NPU card on this server.\n")
    assert places(duo) == {}
    assert duo.reported() == []


def test_absent_cards_of_the_table_are_not_inspected(machine: Machine) -> None:
    for card in (1, 5):
        (machine.root / f"dev/davinci{card}").unlink()
    assert here(machine.node()) == (0, 2, 3, 4, 6, 7)
    for card in (0, 2, 3, 4, 6, 7):
        (machine.root / f"dev/davinci{card}").unlink()
    with pytest.raises(CannotTellError, match="none of the table's cards is present"):
        here(machine.node())
