"""The most telling line of several logs: a root error before its consequences, in any file."""

import gzip
import os
from collections.abc import Iterable
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis import most_telling as module
from hccl_kit.diagnosis.known_lines import Explanation, explain_lines
from hccl_kit.diagnosis.most_telling import most_telling

CAUSE = "ImportError: libascend_hal.so: cannot open shared object file: No such file or directory\n"
CONSEQUENCE = "EE1002: Stream synchronize timeout. rtDeviceSynchronize execute failed, reason=[stream sync timeout]\n"


def test_a_root_error_goes_before_a_consequence_in_another_log(tmp_path: Path) -> None:
    (tmp_path / "rank_0.log").write_text(CONSEQUENCE)
    (tmp_path / "rank_1.log").write_text("a line\n" + CAUSE)
    for paths in ([tmp_path], [tmp_path / "rank_1.log", tmp_path / "rank_0.log"]):
        found = most_telling(paths)
        assert found is not None
        assert found.file == tmp_path / "rank_1.log"
        assert (found.explanation.answers[0].row.role, found.explanation.answers[0].line) == ("cause", 2)


def test_of_equal_lines_that_of_the_first_log_counts(tmp_path: Path) -> None:
    for name in ("b.log", "a.log"):
        (tmp_path / name).write_text(CAUSE)
    found = most_telling([tmp_path])
    assert found is not None
    assert found.file.name == "a.log"


@pytest.mark.parametrize(
    "content", [b"", b"epoch 3\n", b"HCCL_CONNECT_TIMEOUT set by default to [120]s\n", b"\0\1" + b"x"]
)
def test_nothing_is_told_of_logs_without_an_error(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(content)
    assert most_telling([tmp_path]) is None


def test_archives_and_pipes_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.log.gz").write_bytes(gzip.compress(CAUSE.encode()))
    assert most_telling([tmp_path]) is None
    os.mkfifo(tmp_path / "b.log")
    assert most_telling([tmp_path]) is None


def test_a_missing_path_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(KitError, match="No such file"):
        most_telling([tmp_path / "none.log"])


def test_the_number_of_files_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number, line in enumerate((CONSEQUENCE, CONSEQUENCE, CAUSE)):
        (tmp_path / f"{number}.log").write_text(line)
    assert (found := most_telling([tmp_path]))
    assert found.file.name == "2.log"
    monkeypatch.setattr(module, "MAX_FILES", 2)
    assert (found := most_telling([tmp_path]))
    assert found.file.name == "0.log"


def test_only_the_end_of_a_log_is_searched_and_its_lines_keep_their_numbers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.log").write_text(CAUSE + "a line\n" * 100 + CONSEQUENCE)
    assert (found := most_telling([tmp_path]))
    assert found.explanation.answers[0].line == 1
    for end in (len(CONSEQUENCE), len(CONSEQUENCE) + 3, len(CONSEQUENCE) + 7 * 50):
        monkeypatch.setattr(module, "END", end)
        assert (found := most_telling([tmp_path]))
        assert (found.explanation.answers[0].line, found.explanation.answers[0].row.role) == (102, "symptom")


def test_the_lines_above_the_end_of_a_log_are_only_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at one by one, 20 million short lines took 40 s."""
    looked_at = []

    def counting(lines: Iterable[str], above: int) -> Explanation | None:
        looked_at.append(above)
        return explain_lines(lines, above)

    monkeypatch.setattr(module, "explain_lines", counting)
    (tmp_path / "a.log").write_text("\n" * 3_000_000 + CONSEQUENCE)
    assert (found := most_telling([tmp_path]))
    assert found.explanation.answers[0].line == 3_000_001
    assert 3_000_000 - module.END < looked_at[0] < 3_000_000
