"""Containers: configurations from bug reports, and files that are not rank tables."""

import os

import pytest

from hccl_kit.preflight.node import CannotTellError
from hccl_kit.preflight.rules.containers import other_cards_in_container, stale_root_info
from tests.preflight.machines import Machine
from tests.preflight.nodes import messages


def test_a_folder_that_docker_made_is_named(machine: Machine) -> None:
    """TileXR: HCCL then stops with basic_filebuf::underflow, "Is a directory"."""
    (machine.root / "etc/hccl_rootinfo.json").mkdir(parents=True)
    assert machine.reported() == [
        ("HK639", "/etc/hccl_rootinfo.json is a folder, which docker makes where the host has no such file")
    ]


def test_a_partially_mounted_driver_is_reported_for_its_missing_topology(a5: Machine) -> None:
    """vllm-project/recipes#907: only lib64 and version.info are mounted."""
    folder = a5.root / "usr/local/Ascend/driver/topo"
    (folder / "atlas_350_3.json").unlink()
    folder.rmdir()
    assert [rule for rule, _ in a5.reported()] == ["HK640"]


def test_an_order_of_visible_devices_without_effect_is_reported(machine: Machine) -> None:
    """HAMi#1894: the scheduler assigned cards 3 and 4 as "4,3"."""
    for card in (0, 1, 2, 5, 6, 7):
        (machine.root / f"dev/davinci{card}").unlink()
    machine.environ["ASCEND_VISIBLE_DEVICES"] = "4,3"
    assert messages(other_cards_in_container, machine.node()) == [
        'ASCEND_VISIBLE_DEVICES="4,3": the order is ignored, programs number these cards in ascending order'
    ]


@pytest.mark.parametrize(("text", "is_beyond"), [("3,4", True), ("0,1", False), ("1", False), ("0,2", True)])
def test_rt_visible_devices_must_use_the_numbers_in_the_container(text: str, is_beyond: bool, machine: Machine) -> None:
    """vllm-ascend#16256: host cards 3 to 7 count from 0 in a container; CANN refuses other numbers."""
    for card in (0, 1, 2, 5, 6, 7):
        (machine.root / f"dev/davinci{card}").unlink()
    machine.environ |= {"ASCEND_VISIBLE_DEVICES": "3,4", "ASCEND_RT_VISIBLE_DEVICES": text}
    expected = (
        f'ASCEND_RT_VISIBLE_DEVICES="{text}" selects among the 2 cards of this container, which count from 0, whatever '
        "their numbers in /dev (cards 3 to 4)"
    )
    assert messages(other_cards_in_container, machine.node()) == ([expected] if is_beyond else [])


def test_outside_a_container_the_numbers_are_those_of_the_host(machine: Machine) -> None:
    (machine.root / "dev/davinci3").unlink()
    machine.environ["ASCEND_RT_VISIBLE_DEVICES"] = "7"
    assert messages(other_cards_in_container, machine.node()) == []


@pytest.mark.parametrize("text", ["", "all", "0-3", "Ascend910-0,Ascend910-1", "0,", "9" * 5000, "\x1b[2J"])
def test_other_values_of_visible_devices_are_not_reported(text: str, machine: Machine) -> None:
    machine.environ["ASCEND_VISIBLE_DEVICES"] = text
    assert messages(other_cards_in_container, machine.node()) == []


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "names no version"),
        ('{"version": 2}', "names no version"),
        ("\x00\xff", "not JSON"),
    ],
)
def test_a_file_that_is_not_a_table_is_reported(text: str, reason: str, a5: Machine) -> None:
    a5.file("etc/hccl_rootinfo.json", text)
    with pytest.raises(CannotTellError, match=reason):
        messages(stale_root_info, a5.node())


def test_does_not_block_on_a_pipe(a5: Machine) -> None:
    a5.file("etc/other", "")
    os.mkfifo(a5.root / "etc/hccl_rootinfo.json")
    with pytest.raises(CannotTellError, match="regular file"):
        messages(stale_root_info, a5.node())


def test_a_version_is_printed_without_its_control_characters(a5: Machine) -> None:
    a5.file("etc/hccl_rootinfo.json", '{"version": "\\u001b[2J"}')
    (found,) = messages(stale_root_info, a5.node())
    assert "\x1b" not in found
