"""hccl-kit place as a user runs it."""

import json
from pathlib import Path

import pytest

from hccl_kit.check.engine import check_text
from hccl_kit.cli.place import main
from hccl_kit.table.model import RankTable
from tests.tables import pods_value, ranks_value, value


def scattered() -> dict[str, object]:
    """Two super pods of two servers of four cards; the ranks alternate between the servers."""
    table = pods_value(2, 2, 4)
    for s, server in enumerate(table["server_list"]):
        for d, device in enumerate(server["device"]):
            device["rank_id"] = str(d * 4 + s)
    return table


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.json").write_text(json.dumps(scattered()))
    (tmp_path / "a5.json").write_text(json.dumps(ranks_value()))
    hostile = json.dumps(value(2, 4)).replace("10.0.0.2", "n2 $(reboot)")
    (tmp_path / "hostile.json").write_text(hostile)
    (tmp_path / "inventory.yaml").write_text("n1: {super_pod: a, 0: 192.168.1.1}\nn2: {super_pod: b, 0: 192.168.1.2}\n")
    return tmp_path


def table_in(path: Path) -> RankTable:
    report = check_text(path.read_bytes(), path.name)
    assert report.ok
    assert report.table is not None
    return report.table


def test_the_better_order_is_written_with_the_same_devices(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["t.json", "--tp", "4", "-o", "new.json"]) == 0
    printed = capsys.readouterr()
    assert "better order" in printed.out
    assert printed.out.endswith("wrote: new.json\n")
    assert printed.err == "", "no warning about the ranks of a server"
    old, new = table_in(desk / "t.json"), table_in(desk / "new.json")
    devices = [{(server.id, one.id): one._replace(rank=0) for server, one in of.devices()} for of in (old, new)]
    assert devices[0] == devices[1]
    assert [server.id for server, _ in new.by_rank()][::4] == [f"10.0.0.{n}" for n in (1, 2, 3, 4)]
    assert main(["new.json", "--tp", "4"]) == 0
    assert "the order of the table is kept" in capsys.readouterr().out


def test_an_existing_file_is_not_overwritten(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["t.json", "--tp", "4", "-o", "t.json"]) == 2
    assert "t.json exists with other content" in capsys.readouterr().err
    assert json.loads((desk / "t.json").read_text()) == scattered()
    assert main(["t.json", "--tp", "4", "-o", "t.json", "--force"]) == 0


def test_the_drawing_shows_the_groups_of_the_given_kind(desk: Path) -> None:
    assert main(["t.json", "--tp", "4", "--pp", "2", "--svg", "a.svg", "--color", "pipeline"]) == 0
    drawing = (desk / "a.svg").read_text()
    assert "rank 0, 192.168.100.1, pipeline group 0" in drawing
    assert "rank 9, 192.168.101.3, pipeline group 1" in drawing
    assert "colours: pipeline groups" in drawing
    assert main(["t.json", "--tp", "4", "--svg", "b.svg"]) == 0
    assert "tensor group 3" in (desk / "b.svg").read_text()


@pytest.mark.parametrize(
    ("to", "words"),
    [
        ("slurm-topology", "SwitchName=sp-0 Nodes=10.0.0.[1-2]"),
        ("hypernode", "kind: HyperNode"),
        ("kueue-topology", "kind: Topology"),
        ("node-labels", "kubectl label --overwrite node 10.0.0.1 10.0.0.2 hccl-kit/super-pod=0"),
    ],
)
def test_scheduler_files_are_printed_or_written(
    to: str, words: str, desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["t.json", "--to", to]) == 0
    printed = capsys.readouterr().out
    assert words in printed
    assert main(["t.json", "--to", to, "-o", "out"]) == 0
    assert (desk / "out").read_text() == printed


def test_reads_an_inventory_and_node_names(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--inventory", "inventory.yaml", "--to", "slurm-topology", "--nodes", "node[07-08]"]) == 0
    assert capsys.readouterr().out.split("\n")[1:3] == ["SwitchName=sp-a Nodes=node07", "SwitchName=sp-b Nodes=node08"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none.json", "--tp", "2"), "cannot read none.json"),
        (("--tp", "2"), "the rank table is missing"),
        (("t.json", "--tp", "3"), "--tp 3 times --pp 1 does not divide"),
        (("t.json", "--tp", "two"), "--tp must be a whole number from 0 on, got 'two'"),
        (("t.json", "--tp", "2", "--layers", "0"), "--layers must be 1 or more"),
        (("t.json", "--color", "tensor"), "--color needs --svg FILE"),
        (("t.json", "--svg", "a.json"), "does not end in .svg"),
        (("t.json", "-o", "-"), "--output cannot be - (standard output)"),
        (("t.json", "-o", "none/t.json"), "-o: the folder none does not exist"),
        (("t.json", "--nodes", "n[1-4]"), "--nodes needs --to"),
        (("t.json", "--to", "hypernode", "--tp", "2"), "--tp does not belong to --to hypernode"),
        (("t.json", "--to", "hypernode", "--nodes", "n[1-3]"), "--nodes names 3 nodes"),
        (("t.json", "--to", "hypernode", "--nodes", "n[1-"), "the bracket is not closed"),
        (("t.json", "--to", "hypernode", "--inventory", "inventory.yaml"), "--to takes one source"),
        (("--to", "hypernode"), "--to takes one source"),
        (("a5.json", "--to", "hypernode"), "version 2.0 does not name hosts"),
        (("hostile.json", "--to", "hypernode"), "is not a valid name of a node"),
        (("hostile.json", "--to", "node-labels"), "is not a valid name of a node"),
    ],
)
def test_an_error_is_one_line_and_nothing_is_written(
    arguments: tuple[str, ...], words: str, desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(desk.iterdir())
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.err.count("error:") == 1
    assert printed.out == ""
    assert sorted(desk.iterdir()) == before
