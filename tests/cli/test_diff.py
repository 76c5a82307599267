"""hccl-kit diff as a user runs it."""

import json
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.cli.diff import MAX_CHANGES, as_text, main
from hccl_kit.table.operations.diff import Change
from tests.tables import value


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "a.json", value(8, 8))
    return tmp_path


def put(path: Path, document: Any) -> None:
    path.write_text(json.dumps(document))


def test_equivalent_tables_are_exit_0(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    turned = value(8, 8)
    turned["server_list"].reverse()
    (desk / "b.json").write_text(json.dumps(turned, indent=1, sort_keys=True))
    assert main(["a.json", "b.json"]) == 0
    assert capsys.readouterr().out == "the same\n"
    assert main(["a.json", "b.json", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"version": 1, "changes": []}


def test_differences_are_exit_1_and_are_grouped_by_server(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = value(8, 8)
    other["server_list"][2]["device"][3]["device_ip"] = "192.168.7.7"
    del other["server_list"][2]["host_nic_ip"]
    other["server_list"].pop()
    other["server_count"] = "7"
    put(desk / "b.json", other)
    assert main(["a.json", "b.json"]) == 1
    assert capsys.readouterr().out.split("\n") == [
        "server 10.0.0.3",
        '  key "host_nic_ip": "reserve" -> absent',
        '  device 3: address: "192.168.103.3" -> "192.168.7.7"',
        "server 10.0.0.8",
        "  server: 8 devices -> absent",
        "",
    ]
    assert main(["a.json", "b.json", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["changes"][1] == {
        "what": "address",
        "before": '"192.168.103.3"',
        "after": '"192.168.7.7"',
        "server": "10.0.0.3",
        "device": 3,
    }


def test_common_changes_and_a_shift_of_ranks_are_one_line_each(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = value(9, 8)
    other["server_list"] = other["server_list"][1:] + other["server_list"][:1]
    for server in other["server_list"]:
        server["host_nic_ip"] = "x"
    del other["server_list"][-1]
    less = value(9, 8)
    del less["server_list"][0]
    for n, device in enumerate(device for server in less["server_list"] for device in server["device"]):
        device["rank_id"] = str(n)
    put(desk / "a.json", less | {"server_count": "8"})
    for n, device in enumerate(device for server in other["server_list"] for device in server["device"]):
        device["rank_id"] = str(63 - n)
    put(desk / "b.json", other | {"server_count": "8"})
    assert main(["a.json", "b.json"]) == 1
    lines = capsys.readouterr().out.split("\n")
    assert lines[0] == '8 servers: key "host_nic_ip": "reserve" -> "x"'
    assert lines[1] == "server 10.0.0.2"
    assert lines[2] == "  device 0: rank: 0 -> 63"


def test_the_text_limits_the_number_of_changes_and_the_json_has_all(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = value(64, 8)
    first = value(64, 8)
    for n, device in enumerate(device for server in other["server_list"] for device in server["device"]):
        device["device_ip"] = f"10.1.{n // 250}.{n % 250}"
    put(desk / "a.json", first)
    put(desk / "b.json", other)
    assert main(["a.json", "b.json"]) == 1
    assert capsys.readouterr().out.split("\n")[-2] == f"and {512 - MAX_CHANGES} more; --format json lists all"
    assert main(["a.json", "b.json", "--format", "json"]) == 1
    assert len(json.loads(capsys.readouterr().out)["changes"]) == 512


def test_long_values_are_truncated_and_control_characters_replaced() -> None:
    line = as_text([Change('key "x"', '"' + "a" * 200, "\x1b[2J")])
    assert len(line) < 150
    assert "\x1b" not in line
    text = as_text([Change("k" * 200, None, None), Change("rank", "0", "1", server="s\x1b" + "s" * 5000)])
    assert max(map(len, text.splitlines())) < 110
    assert "\x1b" not in text


def test_tables_that_hccl_refuses_are_compared_too(desk: Path) -> None:
    broken = value(8, 8)
    broken["server_list"][0]["device"][0]["rank_id"] = "1"
    put(desk / "b.json", broken)
    assert main(["a.json", "b.json"]) == 1
    assert main(["b.json", "b.json"]) == 0


@pytest.mark.parametrize(("file", "words"), [("none.json", "cannot read none.json"), ("bad.json", "HK001")])
def test_an_unreadable_file_is_exit_2(file: str, words: str, desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (desk / "bad.json").write_text("{")
    assert main(["a.json", file]) == 2
    assert words in capsys.readouterr().err
