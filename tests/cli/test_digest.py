"""hccl-kit digest as a user runs it."""

import json
from pathlib import Path

import pytest

from hccl_kit.cli.digest import main
from hccl_kit.table.formats.server_list import from_value
from hccl_kit.table.operations.digest import digest
from tests.tables import value


def test_prints_one_line_per_file_like_sha256sum(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text(json.dumps(value(2, 2)))
    (tmp_path / "b.json").write_text(json.dumps(value(2, 2), indent=3, sort_keys=True))
    (tmp_path / "c.json").write_text(json.dumps(value(3, 2)))
    assert main(["a.json", "b.json", "c.json"]) == 0
    same, other = (digest(from_value(value(servers, 2))) for servers in (2, 3))
    assert capsys.readouterr().out == f"{same}  a.json\n{same}  b.json\n{other}  c.json\n"


def test_an_unreadable_file_does_not_suppress_the_lines_of_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.json").write_text(json.dumps(value()))
    (tmp_path / "bad.json").write_text("[1")
    assert main(["none.json", "bad.json", "a.json"]) == 2
    printed = capsys.readouterr()
    assert printed.out == f"{digest(from_value(value()))}  a.json\n"
    assert "cannot read none.json" in printed.err
    assert "bad.json:1:" in printed.err
