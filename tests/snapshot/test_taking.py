"""Archives of what the tools print, and the machines that they are replayed as."""

from pathlib import Path

import pytest

from hccl_kit.diagnosis.environment import mask_of
from hccl_kit.preflight.answer import inspect
from hccl_kit.preflight.card_probe import probe
from hccl_kit.preflight.machine import machine_of, node_of_all_cards
from hccl_kit.snapshot.document import THIS, Snapshot
from hccl_kit.snapshot.taking import recording_of
from tests.preflight.machines import A2, A5, GENERATIONS, Generation, Machine
from tests.preflight.machines import machine_of as fake_machine
from tests.preflight.samples import sample
from tests.snapshot.recordings import member, replayed


def recorded(fake: Machine) -> tuple[bytes, Snapshot]:
    node = node_of_all_cards(fake.root, fake.environ)
    snapshot = Snapshot({THIS: machine_of(node)})
    return recording_of(node, snapshot, mask_of({}, "box-3")), snapshot


@pytest.mark.parametrize("generation", GENERATIONS, ids=lambda generation: generation.product)
def test_a_recording_is_replayed_as_the_machine_that_it_is_of(
    generation: Generation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "fake").mkdir()
    archive, snapshot = recorded(fake_machine(generation, tmp_path / "fake", monkeypatch))
    assert member(archive, "snapshot.json")["servers"][THIS]["cards"] == snapshot.servers[THIS].cards
    again = machine_of(replayed(archive, tmp_path / "replayed"))
    assert again.cards == snapshot.servers[THIS].cards
    assert again.versions["firmware"] == snapshot.servers[THIS].versions["firmware"]


def test_a_recording_has_the_names_and_addresses_of_no_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = fake_machine(A2, tmp_path, monkeypatch)
    for name in ("lldp", "optical", "stat", "link_stat"):
        (fake.hccn / f"{name}.all").write_text(sample(f"a2/hccn-{name}.txt"))
    fake.change("board.0", "Chip Count", "Serial Number                  : 2102313ABC\n\tChip Count")
    text = str(member(recorded(fake)[0], "recording.json"))
    for private in ("192.168.", "192.0.2.250", "10:20:30:40:50:60", "leaf-3", "2102313ABC", "example CA"):
        assert private not in text
    assert "198.18.0." in text


def test_a_recording_has_all_that_preflight_asks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for generation in (A2, A5):
        folder = tmp_path / generation.product
        folder.mkdir()
        fake = fake_machine(generation, folder, monkeypatch)
        queries = {tuple(query["command"]) for query in member(recorded(fake)[0], "recording.json")["queries"]}
        node = fake.node()
        inspect(node)
        probe(node, all_pairs=False)
        asked = {(Path(query.command[0]).name, *query.command[1:]) for query in node.tools.answered()}
        assert asked
        assert asked <= queries


def test_a_tool_that_hangs_is_said_to_hang(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hccl_kit.discovery.driver_tool.TIMEOUT", 1.0)
    fake = fake_machine(A2, tmp_path, monkeypatch)
    (fake.hccn / "hang").touch()
    unanswered = member(recorded(fake)[0], "recording.json")["unanswered"]
    assert {tuple(row["command"][:3]) for row in unanswered} == {("hccn_tool", "-i", str(card)) for card in range(8)}
    assert {row["reason"] for row in unanswered} == {"no answer in 1 s"}
