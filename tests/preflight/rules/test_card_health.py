"""Cards that are absent, numbered differently, or unhealthy."""

import pytest

from hccl_kit.preflight.node import CannotTellError
from hccl_kit.preflight.rules.card_health import card_missing, card_unhealthy, card_with_alarm, ids_not_physical
from tests.preflight.machines import A2, Machine, table_of
from tests.preflight.nodes import faults, messages
from tests.preflight.samples import sample


def remove(machine: Machine, *cards: int) -> None:
    for card in cards:
        (machine.root / f"dev/davinci{card}").unlink()


def test_absent_cards_are_named_with_the_present_ones(machine: Machine) -> None:
    remove(machine, 4, 5, 7)
    found = faults(card_missing, machine.node())
    assert [one.message for one in found] == [
        "cards 4 to 5 and 7 of the table are missing; /dev has davinci for cards 0 to 3 and 6"
    ]
    assert "--device=/dev/davinci4" in (found[0].hint or "")
    assert messages(ids_not_physical, machine.node()) == []


def test_hidden_cards_are_distinguished_from_a_server_without_cards(machine: Machine) -> None:
    remove(machine, *range(8))
    assert messages(card_missing, machine.node()) == ["cards 0 to 7 of the table are missing; /dev has no davinciN"]


def test_a_table_that_counts_from_0_in_a_container_is_reported_with_the_map(machine: Machine) -> None:
    remove(machine, 0, 1, 2, 3)
    where = machine.node(made=table_of(A2._replace(cards=4)))
    assert messages(card_missing, where) == []
    (found,) = faults(ids_not_physical, where)
    assert found.message == (
        "the table has cards 0 to 3, probably numbered from 0 inside this container; here are cards 4 to 7 "
        "(logical 0 is 4, 1 is 5, 2 is 6, 3 is 7)"
    )
    assert found.hint is not None
    assert '--device_num "[0,4)" --visible_devices 4,5,6,7' in found.hint


@pytest.mark.parametrize("given", ["0-3", "0,1,2,3", "Ascend910-0,Ascend910-1,Ascend910-2,Ascend910-3", " 0-1, 2-3"])
def test_cards_that_the_container_lacks_are_reported(machine: Machine, given: str) -> None:
    machine.environ["ASCEND_VISIBLE_DEVICES"] = given
    assert messages(ids_not_physical, machine.node()) == [
        f'the table uses cards 4 to 7, and ASCEND_VISIBLE_DEVICES="{given}" gives this container other cards'
    ]


@pytest.mark.parametrize("given", ["0-7", "", "void", "npu-vir02-0", "7,6,5,4,3,2,1,0"])
def test_an_unknown_visible_devices_format_is_not_reported(machine: Machine, given: str) -> None:
    machine.environ["ASCEND_VISIBLE_DEVICES"] = given
    assert messages(ids_not_physical, machine.node()) == []


@pytest.mark.parametrize(
    ("health", "rule"),
    [
        ("Alarm", card_unhealthy),
        ("Critical", card_unhealthy),
        ("UNKNOWN", card_unhealthy),
        ("Warning", card_with_alarm),
    ],
)
def test_cards_with_equal_health_are_one_line(machine: Machine, health: str, rule: object) -> None:
    machine.change("info", "| OK    ", f"| {health} ")
    for check in (card_unhealthy, card_with_alarm):
        found = messages(check, machine.node())
        assert found == ([f"cards 0 to 7: its health is {health}"] if check is rule else [])


def test_an_unhealthy_card_that_the_table_does_not_use_is_ignored(machine: Machine) -> None:
    machine.change("info", "| 7     910B4               | OK    ", "| 7     910B4               | Alarm ")
    assert messages(card_unhealthy, machine.node(made=table_of(A2._replace(cards=4)))) == []
    (found,) = faults(card_unhealthy, machine.node())
    assert (found.message, found.device) == ("card 7: its health is Alarm", 7)


def test_a_chip_of_a3_is_its_physical_card(a3: Machine) -> None:
    a3.smi_says("info", sample("a3/npu-smi-info-container.txt"))
    remove(a3, *range(4), *range(6, 16))
    assert messages(card_unhealthy, a3.node()) == ["card 5: its health is Alarm"]


def without_card(machine: Machine, number: int) -> None:
    """As after a card has fallen off the bus: its file in /dev remains."""
    lines = (machine.smi / "info").read_text().splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines) if line.startswith(f"| {number} ") and " OK " in line)
    machine.smi_says("info", "".join(lines[:at] + lines[at + 3 :]))


def test_a_card_that_npu_smi_does_not_list_is_reported(machine: Machine) -> None:
    without_card(machine, 3)
    (found,) = faults(card_unhealthy, machine.node())
    assert (found.message, found.device) == ("card 3: npu-smi does not list it", 3)


def test_without_a_chip_mapping_the_check_is_skipped(duo: Machine) -> None:
    duo.smi_says("map", "nothing\n")
    with pytest.raises(CannotTellError, match="which chip is which card"):
        messages(card_unhealthy, duo.node())
