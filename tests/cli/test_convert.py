"""hccl-kit convert as a user runs it."""

import json
from pathlib import Path

import pytest

from hccl_kit.check.engine import check_text
from hccl_kit.cli.convert import main
from tests.tables import pods_text, pods_value, ranks_value, text


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a3.json").write_text(pods_text(2, 2, 2))
    (tmp_path / "a5.json").write_text(json.dumps(ranks_value()))
    return tmp_path


def test_the_table_goes_to_stdout_and_notes_on_lost_data_to_stderr(
    desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["a3.json", "--to", "1.0"]) == 0
    printed = capsys.readouterr()
    assert check_text(printed.out, "t.json").format == "1.0"
    assert printed.err.split("\n") == [
        "note: the super pods (2) are left out: only version 1.2 has them",
        "note: super_device_id of the devices is left out: only version 1.2 has it",
        "",
    ]


@pytest.mark.parametrize("target", ["1.0", "1.2", "template2"])
def test_writes_a_file_and_does_not_overwrite_it(target: str, desk: Path) -> None:
    assert main(["a5.json", "--to", target, "-o", "new.json"]) == 0
    written = (desk / "new.json").read_text()
    assert check_text(written, "new.json").format == target
    assert main(["a5.json", "--to", target, "-o", "new.json"]) == 0
    (desk / "new.json").write_text("mine")
    assert main(["a5.json", "--to", target, "-o", "new.json"]) == 2
    assert (desk / "new.json").read_text() == "mine"
    assert main(["a5.json", "--to", target, "-o", "new.json", "--force"]) == 0
    assert (desk / "new.json").read_text() == written


def test_standard_input_is_read(
    desk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "piped").write_text(text(1, 4))
    with (desk / "piped").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert main(["-", "--to", "2.0"]) == 0
    assert json.loads(capsys.readouterr().out)["rank_count"] == 4


def test_a_result_that_hccl_would_refuse_is_not_written(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    document = pods_value(1, 2, 16)  # 16 cards per server; template 2, which is for 910, allows 8
    (desk / "wide.json").write_text(json.dumps(document))
    assert main(["wide.json", "--to", "template2", "-o", "new.json"]) == 2
    assert ", in the table to be written" in capsys.readouterr().err
    assert not (desk / "new.json").exists()


def test_a_warning_about_the_result_is_reported(desk: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (desk / "mixed.json").write_text(json.dumps(ranks_value(4, 2)))
    assert main(["mixed.json", "--to", "1.0"]) == 0
    assert "warning: HK406" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("none.json", "--to", "1.0"), "cannot read none.json"),
        (("a3.json", "--to", "1.2"), "the table already is of version 1.2"),
        (("bad.json", "--to", "1.2"), "bad.json:1:1: HK001"),
        (("a3.json", "--to", "1.0", "-o", "none/t.json"), "-o: the folder none does not exist"),
    ],
)
def test_a_misspelled_key_is_one_error(
    arguments: tuple[str, ...], words: str, desk: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (desk / "bad.json").write_text("x")
    assert main(arguments) == 2
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.err.count("error:") == 1
    assert printed.out == ""
