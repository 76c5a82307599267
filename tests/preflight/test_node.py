"""Outputs of the driver tools are cached per node."""

from pathlib import Path

import pytest

from hccl_kit.discovery.driver_tool import NoAnswerError
from hccl_kit.preflight.node import ToolQueries


def counting_tool(folder: Path, text: str) -> str:
    """A program that writes a line to `log` at every start."""
    path = folder / "npu-smi"
    path.write_text(f'#!/bin/sh\necho "$*" >>{folder}/log\n{text}\n')
    path.chmod(0o755)
    return str(path)


def starts(folder: Path) -> int:
    return len((folder / "log").read_text().splitlines())


def test_a_query_runs_once_for_each_value(tmp_path: Path) -> None:
    tool = counting_tool(tmp_path, "echo ok")
    first, second = ToolQueries(), ToolQueries()
    assert [first.query(tool, "info"), first.query(tool, "info")] == ["ok\n", "ok\n"]
    assert starts(tmp_path) == 1
    assert (second.query(tool, "info"), starts(tmp_path)) == ("ok\n", 2)


def test_after_a_failure_the_tool_is_not_run_again(tmp_path: Path) -> None:
    tool = str(tmp_path / "none")
    queries = ToolQueries()
    for words in (("info",), ("info", "-m")):
        with pytest.raises(NoAnswerError, match="cannot be started"):
            queries.query(tool, *words)
    (only,) = queries.unanswered()
    assert (only.command, queries.failure(tool) is only.reason) == ((tool, "info"), True)
    assert ToolQueries().unanswered() == ()


def test_a_card_that_fails_does_not_stop_the_others(tmp_path: Path) -> None:
    tool = counting_tool(tmp_path, '[ "$2" = 0 ] || exit 0; head -c 100000 /dev/zero')
    queries = ToolQueries()
    with pytest.raises(NoAnswerError):
        queries.query(tool, "-i", "0", "-link", "-g")
    assert queries.query(tool, "-i", "1", "-link", "-g") == ""
    assert queries.failure(tool, "-i", "0") is not None
    assert queries.failure(tool, "-i", "1") is None
    assert queries.failure(tool) is None
