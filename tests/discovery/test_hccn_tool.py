"""The fake tool reproduces recorded output of the real one."""

import os
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.discovery import hccn_tool, may_be_file
from hccl_kit.table.hosts import Card
from tests.places import FAKES
from tests.waiting import PATIENCE, has_ended, wait_until

TOOL = str(FAKES / "hccn_tool")


@pytest.fixture
def cards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of the fake, with the eight cards of the MindSpore tutorial."""
    for i in range(8):
        address = f"192.168.{100 + i % 4}.{101 if i < 4 else 100}"
        (tmp_path / f"ipv4.{i}").write_text(f"ipaddr:{address}\nnetmask:255.255.255.0\n")
    monkeypatch.setenv("FAKE_HCCN", str(tmp_path))
    return tmp_path


def test_every_card_is_queried_in_order(cards: Path) -> None:
    found = hccn_tool.cards(TOOL, [6, 4, 5])
    addresses = {6: "192.168.102.100", 4: "192.168.100.100", 5: "192.168.101.100"}
    assert list(found.items()) == [(card, Card(address, 24)) for card, address in addresses.items()]


def test_ipv6_is_used_if_ipv4_is_not_set(cards: Path) -> None:
    (cards / "ipv4.4").unlink()
    (cards / "ipv6.4").write_text("ipv6_address:fd00:100::4\nprefix_length:64\n")
    assert hccn_tool.cards(TOOL, [4, 5]) == {4: Card("fd00:100::4", 64), 5: Card("192.168.101.100", 24)}


def test_the_vnic_address_is_used_if_there_is_no_roce_address(cards: Path) -> None:
    (cards / "ipv4.4").unlink()
    (cards / "vnic.4").write_text("vnic link status: UP\nvnic ipaddr: 192.168.2.199\nvnic netmask: 255.255.0.0\n")
    found = hccn_tool.cards(TOOL, [4, 5], vnic=True)
    assert found == {4: Card("192.168.2.199", 16, on_vnic=True), 5: Card("192.168.101.100", 24)}
    with pytest.raises(KitError, match="card 4: Get ipconf failed, because no ip was preset there!"):
        hccn_tool.cards(TOOL, [4, 5])
    (cards / "vnic.4").unlink()
    with pytest.raises(KitError, match="card 4: Get ipconf failed, because no ip was preset there!"):
        hccn_tool.cards(TOOL, [4, 5], vnic=True)


def test_output_without_a_netmask_is_parsed(cards: Path) -> None:
    (cards / "ipv4.4").write_text("ipaddr:10.0.0.1\n")
    (cards / "ipv4.5").write_text("ipaddr:10.0.0.2\nnetmask:-.-.-.-\n")
    assert hccn_tool.cards(TOOL, [4, 5]) == {4: Card("10.0.0.1"), 5: Card("10.0.0.2")}


def test_the_tool_runs_with_english_messages_and_all_cards_visible(
    cards: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    monkeypatch.setenv("ASCEND_RT_VISIBLE_DEVICES", "4,5")
    hccn_tool.cards(TOOL, [4])
    assert (cards / "log").read_text() == "-i 4 -ip -g LC_ALL=C VISIBLE=\n"


def test_all_failing_cards_are_in_one_error(cards: Path) -> None:
    (cards / "ipv4.1").unlink()
    (cards / "ipv4.3").write_text("ipaddr:-.-.-.-\n")
    (cards / "ipv4.5").write_text("")
    (cards / "ipv4.7").write_text("\x1b[2Jerror while loading shared libraries: libdcmi.so\n" * 20)
    with pytest.raises(KitError) as caught:
        hccn_tool.cards(TOOL, range(8))
    text = caught.value.render()
    first, *cards_shown = text.split("\n")[:5]
    assert first == f"error: {TOOL} gave no address for 4 of 8 cards:"
    assert cards_shown[0] == "    card 1: Get ipconf failed, because no ip was preset there!"
    assert cards_shown[1] == "    card 3: '-.-.-.-' is not an IP address"
    assert cards_shown[2] == "    card 5: the tool printed nothing"
    assert cards_shown[3].startswith("    card 7: ?[2Jerror while loading shared libraries: libdcmi.so ?[2Jerror")
    assert len(cards_shown[3]) < 140
    assert "hccn_tool -i 1 -ip -s address" in text


def test_a_tool_without_output_times_out(cards: Path) -> None:
    (cards / "hang").touch()
    with pytest.raises(KitError, match=r"card 0: no answer in 1 s\n    card 1: no answer in 1 s"):
        hccn_tool.cards(TOOL, [0, 1], timeout=1.0)
    children = (cards / "children").read_text().split()
    assert len(children) == 2
    assert wait_until(lambda: all(has_ended(int(child)) for child in children))


def test_a_tool_that_prints_without_end_is_stopped(cards: Path, tmp_path: Path) -> None:
    tool = tmp_path / "hccn_tool"
    tool.write_text("#!/bin/sh\necho $$ >>$FAKE_HCCN/children\nexec yes\n")
    tool.chmod(0o755)
    with pytest.raises(KitError, match="card 0: the tool prints more than 65536 bytes"):
        hccn_tool.cards(str(tool), [0], timeout=PATIENCE)
    assert wait_until(lambda: has_ended(int((cards / "children").read_text())))


def test_a_tool_that_does_not_exit_after_its_output_is_stopped(cards: Path, tmp_path: Path) -> None:
    tool = tmp_path / "hccn_tool"
    tool.write_text("#!/bin/sh\necho ipaddr:10.0.0.1\nexec sleep 60 >&- 2>&-\n")
    tool.chmod(0o755)
    with pytest.raises(KitError, match="card 0: no answer in 1 s"):
        hccn_tool.cards(str(tool), [0], timeout=1.0)


@pytest.mark.usefixtures("no_privileges")
def test_a_path_in_an_inaccessible_folder_may_be_a_file(tmp_path: Path) -> None:
    assert may_be_file(tmp_path / "closed" / "hccn_tool")
    assert not may_be_file(Path("/no/such/hccn_tool"))


@pytest.mark.parametrize("content", ["#!/bin/sh\n", "#!/no/such/shell\n"])
def test_tool_that_does_not_start_is_an_error(tmp_path: Path, content: str) -> None:
    tool = tmp_path / "hccn_tool"
    tool.write_text(content)
    tool.chmod(0o755 if "no" in content else 0o644)
    with pytest.raises(KitError, match=r"card 0: the tool cannot be started: (Permission denied|No such file)"):
        hccn_tool.cards(str(tool), [0])


def test_tool_is_found_on_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", f"{FAKES}{os.pathsep}{os.environ['PATH']}")
    assert hccn_tool.find() == TOOL


def test_the_tool_is_found_in_its_default_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    there = [place for place in hccn_tool.USUAL_PLACES if Path(place).is_file()]
    assert hccn_tool.find() == (there[0] if there else None)
