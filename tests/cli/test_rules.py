"""hccl-kit rules as a user runs it."""

import json

import pytest

from hccl_kit.cli.rules import main
from hccl_kit.diagnosis.catalogue import CATALOGUE


def test_text_has_one_line_per_rule(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    lines = capsys.readouterr().out.split("\n")
    assert [line[:5] for line in lines] == [*(rule.id for rule in CATALOGUE), ""]


def test_json_is_one_document(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--format", "json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["rules"]) == len(CATALOGUE)


def test_an_unknown_format_is_exit_2(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--format", "xml"])
    assert caught.value.code == 2
    assert "json" in capsys.readouterr().err
