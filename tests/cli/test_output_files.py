"""Which existing files may be overwritten, and which never are."""

import os
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.base.atomic_file import write_atomically
from hccl_kit.base.errors import KitError
from hccl_kit.cli import output_files
from hccl_kit.cli.output_files import OutputFile, check_folder, show_files, write_files


@pytest.mark.parametrize("force", [False, True])
def test_a_pipe_is_never_replaced_by_a_file(tmp_path: Path, force: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link"):
        with pytest.raises(KitError, match=f"{name} is not a regular file"):
            write_files([OutputFile(tmp_path / "new", ""), OutputFile(tmp_path / name, "text")], force=force)
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "link").is_symlink()
    assert not (tmp_path / "new").exists()


def test_two_outputs_with_one_path_are_refused(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    files = [OutputFile(tmp_path / "a", "one"), OutputFile(tmp_path / "inner" / ".." / "a", "two")]
    for write in (write_files, show_files):
        with pytest.raises(KitError, match="is named for two outputs"):
            write(files, force=True)
    assert not (tmp_path / "a").exists()


def test_a_new_folder_may_be_very_deep(tmp_path: Path) -> None:
    check_folder(tmp_path.joinpath(*["a"] * 1500), may_be_new=True)


def test_a_file_that_appears_meanwhile_is_not_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If two programs write the same new file at once, the second one reports an error."""
    path = tmp_path / "a.sh"

    def another_writes_it(*arguments: Any, **options: Any) -> None:
        path.write_text("theirs")
        write_atomically(*arguments, **options)

    monkeypatch.setattr(output_files, "write_atomically", another_writes_it)
    with pytest.raises(KitError, match="File exists"):
        write_files([OutputFile(path, "ours")], force=False)
    assert path.read_text() == "theirs"
    assert list(tmp_path.iterdir()) == [path]


def test_files_written_before_a_failure_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "old").write_text("before")

    def full_at_the_third(path: Path, text: str, **options: object) -> None:
        if path.name == "third":
            raise KitError("cannot write third: No space left on device")
        write_atomically(path, text, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(output_files, "write_atomically", full_at_the_third)
    files = [OutputFile(tmp_path / name, "new") for name in ("first", "old", "third")]
    with pytest.raises(KitError, match="No space left"):
        write_files(files, force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]


def test_a_dry_run_shows_the_length_of_what_nobody_reads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    show_files([OutputFile(tmp_path / "a.yaml", f"name: x\ndata: {'Ab+/' * 300}==\n")], force=False)
    assert capsys.readouterr().out.endswith("\nname: x\ndata: [1202 characters of Base64]\n\n")
