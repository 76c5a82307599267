"""hccl-merge as a user runs it."""

import json
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.cli.merge import main
from tests.tables import pods_value, value


def table(number: int, **more: Any) -> dict[str, Any]:
    """The table of server 10.0.0.`number` alone."""
    document = value(1, 2) | more
    server = document["server_list"][0]
    server["server_id"] = f"10.0.0.{number}"
    for device in server["device"]:
        device["device_ip"] = f"192.168.{100 + int(device['device_id'])}.{number}"
    return document


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with the tables of servers 1, 2 and 10."""
    monkeypatch.chdir(tmp_path)
    for number in (1, 2, 10):
        put(tmp_path / f"hccl_2p_01_10.0.0.{number}.json", table(number))
    return tmp_path


def put(path: Path, document: Any) -> Path:
    path.write_text(json.dumps(document))
    return path


def servers(path: Path) -> list[str]:
    return [server["server_id"] for server in json.loads(path.read_text())["server_list"]]


def test_a_simulated_table_among_real_ones_is_a_warning(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    simulated = table(7)
    for number, device in enumerate(simulated["server_list"][0]["device"], start=1):
        device["device_ip"] = f"192.0.2.{number}"
    put(desk / "hccl_2p_01_10.0.0.7.json", simulated)
    assert main(["."]) == 0
    warning = 'warning: HK322: address "192.0.2.1" is in 192.0.2.0/24 (RFC 5737), a range that no network has; 2 '
    assert capsys.readouterr().err.startswith(warning)


def test_an_earlier_output_among_the_inputs_gets_a_hint(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As after running `hccl-merge hccl_*.json` twice."""
    assert main(["."]) == 0
    assert main(sorted(path.name for path in desk.iterdir())) == 2
    error = capsys.readouterr().err
    assert "is in hccl_2p_01_10.0.0.1.json and in hccl_3s_6p.json" in error
    assert "fix: leave out hccl_3s_6p.json, which an earlier merge wrote" in error


@pytest.mark.parametrize(
    "arguments",
    [
        ("hccl_2p_01_10.0.0.10.json", "hccl_2p_01_10.0.0.2.json", "hccl_2p_01_10.0.0.1.json"),
        (".",),
        ("./",),
        ("hccl_2p_*.json",),
    ],
)
def test_files_a_folder_and_a_pattern_give_one_table(
    arguments: tuple[str, ...], desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "merged: 3 tables, 3 servers, 6 devices",
        "wrote: hccl_3s_6p.json",
        "next: hccl-kit run hccl_3s_6p.json --ssh -- COMMAND",
        "  or: hccl-kit launch hccl_3s_6p.json --to bash -- COMMAND, which writes a script",
    ]
    order = "the ranks are on 10.0.0.1, 10.0.0.2, 10.0.0.10 in this order; --order as-given keeps that of the tables"
    assert printed.err == (f"note: {order}\n" if len(arguments) > 1 else "")
    merged = desk / "hccl_3s_6p.json"
    assert servers(merged) == ["10.0.0.1", "10.0.0.2", "10.0.0.10"]
    document = json.loads(merged.read_text())
    assert document["server_count"] == "3"
    ranks = [device["rank_id"] for server in document["server_list"] for device in server["device"]]
    assert ranks == ["0", "1", "2", "3", "4", "5"]


def test_its_own_output_in_a_folder_is_ignored_so_a_second_run_changes_nothing(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["."]) == 0
    before = (desk / "hccl_3s_6p.json").read_bytes()
    capsys.readouterr()
    for given in (".", "*.json"):
        assert main([given]) == 0
        printed = capsys.readouterr()
        assert "unchanged: hccl_3s_6p.json" in printed.out
        assert printed.err.endswith("hccl_3s_6p.json is left out, an earlier merge wrote it\n")
    assert (desk / "hccl_3s_6p.json").read_bytes() == before


@pytest.mark.parametrize("output", [(), ("-o", "./hccl_3s_6p.json"), ("--force", "-o", "hccl_3s_6p.json")])
def test_its_own_output_among_the_named_inputs_is_refused(
    output: tuple[str, ...], desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["."]) == 0
    before = (desk / "hccl_3s_6p.json").read_bytes()
    capsys.readouterr()
    assert main([*output, "hccl_3s_6p.json"]) == 2
    assert "is both the output and one of the tables to merge" in capsys.readouterr().err
    assert (desk / "hccl_3s_6p.json").read_bytes() == before


def test_an_output_inside_the_folder_is_not_read_as_an_input(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([".", "-o", "hccl_job.json"]) == 0
    assert main([".", "-o", "hccl_job.json", "--force"]) == 2
    assert "hccl_job.json is both the output and one of the tables to merge" in capsys.readouterr().err


def test_ignored_tables_of_a_folder_are_named(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (desk / "node9.json").write_text((desk / "hccl_2p_01_10.0.0.1.json").read_text().replace("10.0.0.1", "10.0.0.9"))
    assert main(["."]) == 0
    assert capsys.readouterr().err == "note: not named hccl_*.json, so left out: ./node9.json\n"
    (desk / "others").mkdir()
    (desk / "node9.json").rename(desk / "others" / "node9.json")
    assert main(["others"]) == 2
    assert capsys.readouterr().err == (
        "error: others contains no rank table; looked for others/hccl_*.json\n  fix: hccl-merge 'others/*.json'\n"
    )
    assert main(["others/*.json"]) == 0


def test_order_given_keeps_the_order_of_the_arguments(desk: Path) -> None:
    files = [f"hccl_2p_01_10.0.0.{number}.json" for number in (10, 1, 2)]
    assert main([*files, "--order", "as-given", "-o", "t.json"]) == 0
    assert servers(desk / "t.json") == ["10.0.0.10", "10.0.0.1", "10.0.0.2"]


def test_an_empty_name_as_of_an_unset_variable_is_not_a_folder(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["", "-o", "job.json"]) == 2
    assert capsys.readouterr().err == "error: '' is not the path of a table\n"
    assert not (desk / "job.json").exists()


def test_an_existing_file_is_overwritten_only_with_force(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (desk / "job.json").write_text("mine")
    assert main([".", "-o", "job.json"]) == 2
    assert (desk / "job.json").read_text() == "mine"
    assert "job.json exists with other content" in capsys.readouterr().err
    assert main([".", "-o", "job.json", "--force"]) == 0
    assert servers(desk / "job.json") == ["10.0.0.1", "10.0.0.2", "10.0.0.10"]


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (table(1), 'server "10.0.0.1" is in hccl_2p_01_10.0.0.1.json and in b.json'),
        (table(9, status="initializing"), "b.json:1:"),
        (table(9) | {"server_list": table(9)["server_list"] * 2}, "b.json:1:"),
        (pods_value(1, 1, 2), "hccl_2p_01_10.0.0.1.json is of version 1.0 and b.json of version 1.2"),
        ({"version": "1.0"}, "hccl-check b.json"),
        (["x"], "hccl-check b.json"),
    ],
)
def test_tables_that_cannot_be_merged_are_named_and_nothing_is_written(
    document: Any, words: str, desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    put(desk / "b.json", document)
    assert main(["hccl_2p_01_10.0.0.1.json", "b.json"]) == 2
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.out == ""
    assert not list(desk.glob("hccl_*s_*p.json"))


def test_an_address_of_two_servers_is_refused_and_both_are_named(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    double = table(9)
    double["server_list"][0]["device"][1]["device_ip"] = "192.168.100.1"
    put(desk / "b.json", double)
    assert main(["hccl_2p_01_10.0.0.1.json", "b.json"]) == 2
    one = 'device 1 of server "10.0.0.9" in b.json has the address "192.168.100.1"'
    other = 'device 0 of server "10.0.0.1" in hccl_2p_01_10.0.0.1.json'
    assert f"{one}, and so has {other}\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none.json",), "cannot read none.json"),
        (("no*.json",), "no*.json contains no rank table"),
        (("empty",), "looked for empty/hccl_*.json"),
        (("hccl_2p_01_10.0.0.1.json",) * 2, "hccl_2p_01_10.0.0.1.json is listed twice"),
        ((".", "-o", "none/t.json"), "-o: the folder none does not exist"),
    ],
)
def test_a_misspelled_key_is_one_error(
    arguments: tuple[str, ...], words: str, desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "empty").mkdir()
    assert main(arguments) == 2
    printed = capsys.readouterr().err
    assert words in printed
    assert printed.count("error:") == 1


def test_a_rule_violation_of_the_merged_table_is_an_error(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for number, spelled in ((1, "fd00::1"), (2, "fd00:0::1")):
        document = table(number)
        document["server_list"][0]["device"] = [{"device_id": "0", "rank_id": "0", "device_ip": spelled}]
        put(desk / f"{number}.json", document)
    assert main(["1.json", "2.json"]) == 2
    assert capsys.readouterr().err.startswith("error: HK3")


def test_the_merged_table_is_checked_for_the_product(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    put(desk / "b.json", value(1, 1))
    put(desk / "c.json", table(9))
    assert main(["b.json", "c.json", "-o", "t.json", "--product", "910"]) == 2
    assert capsys.readouterr().err.startswith("error: HK4")
    assert main(["b.json", "c.json", "-o", "t.json", "--product", "a2"]) == 0


def test_a_folder_with_glob_characters_in_its_name_is_read_as_a_folder(desk: Path) -> None:
    (desk / "a[1]").mkdir()
    put(desk / "a[1]" / "hccl_x.json", table(7))
    assert main(["a[1]", "-o", "t.json"]) == 0
    assert servers(desk / "t.json") == ["10.0.0.7"]


def test_a_file_with_glob_characters_in_its_name_is_read_as_a_file(desk: Path) -> None:
    put(desk / "a[1].json", table(7))
    assert main(["a[1].json", "-o", "t.json"]) == 0
    assert servers(desk / "t.json") == ["10.0.0.7"]


def test_files_of_a_folder_are_read_in_natural_order(desk: Path) -> None:
    assert main([".", "--order", "as-given", "-o", "t.json"]) == 0
    assert servers(desk / "t.json") == ["10.0.0.1", "10.0.0.2", "10.0.0.10"]


@pytest.mark.parametrize(
    ("output", "error"), [("no/x.json", "-o: the folder no does not exist"), ("folder", "-o: folder is a folder")]
)
def test_the_output_path_is_checked_before_the_tables_are_read(
    desk: Path, output: str, error: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "folder").mkdir()
    (desk / "broken.json").write_text("{")
    assert main(["broken.json", "-o", output]) == 2
    assert error in capsys.readouterr().err
