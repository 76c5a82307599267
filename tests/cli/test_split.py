"""hccl-kit split as a user runs it, and hccl-merge as its inverse."""

import json
from pathlib import Path

import pytest

from hccl_kit.cli import merge
from hccl_kit.cli.digest import main as digest
from hccl_kit.cli.split import main
from tests.tables import pods_text, text, value


@pytest.mark.parametrize("whole", [text(3, 4), pods_text(2, 2, 2)])
def test_every_server_gets_a_table_and_merging_them_restores_the_original(
    whole: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.json").write_text(whole)
    (tmp_path / "parts").mkdir()
    assert main(["job.json", "-o", "parts"]) == 0
    parts = sorted(path.name for path in (tmp_path / "parts").iterdir())
    assert len(parts) == len(json.loads(whole)["server_list"])
    assert sorted(capsys.readouterr().out.splitlines())[1:] == [f"wrote: parts/{name}" for name in parts]
    assert merge.main(["parts", "-o", "again.json"]) == 0
    capsys.readouterr()
    assert digest(["job.json", "again.json"]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.split()[0] == second.split()[0]


def test_names_are_those_of_hccl_gen_and_other_files_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.json").write_text(text(2, 4))
    (tmp_path / "hccl_4p_0123_10.0.0.2.json").write_text("mine")
    assert main(["job.json"]) == 2
    assert not (tmp_path / "hccl_4p_0123_10.0.0.1.json").exists()
    assert main(["job.json", "--force"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "wrote: hccl_4p_0123_10.0.0.1.json",
        "wrote: hccl_4p_0123_10.0.0.2.json",
        "next: on each server, with its table: hccl-kit run TABLE -- COMMAND",
    ]


def test_two_servers_with_one_file_name_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    document = value(2, 4)
    for server, name in zip(document["server_list"], ("a/b", "a b"), strict=True):
        server["server_id"] = name
    (tmp_path / "job.json").write_text(json.dumps(document))
    assert main(["job.json"]) == 2
    assert "two servers would share a file" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["job.json"]


def test_a_missing_folder_is_created(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text(text(2, 4))
    assert main([str(tmp_path / "job.json"), "-o", str(tmp_path / "new/deep")]) == 0
    assert len(list((tmp_path / "new/deep").iterdir())) == 2


def test_a_path_that_is_not_a_folder_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "job.json").write_text(text(2, 4))
    assert main([str(tmp_path / "job.json"), "-o", str(tmp_path / "job.json" / "new")]) == 2
    assert capsys.readouterr().err == f"error: -o: cannot write into {tmp_path / 'job.json'}: Not a directory\n"


def test_an_empty_folder_name_is_not_the_current_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such as the value of a variable that is not set."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job.json").write_text(text(2, 4))
    with pytest.raises(SystemExit, match="2"):
        main(["job.json", "-o", ""])
    assert "error: argument -o/--output: '' is not a path" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["job.json"]


def test_a_server_id_cannot_escape_from_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    document = value(1, 1)
    document["server_list"][0]["server_id"] = "../../x"
    (tmp_path / "job.json").write_text(json.dumps(document))
    (tmp_path / "parts").mkdir()
    assert main(["job.json", "-o", "parts"]) == 0
    assert [path.name for path in (tmp_path / "parts").iterdir()] == ["hccl_1p_0_..-..-x.json"]
