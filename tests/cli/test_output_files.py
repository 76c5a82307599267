"""What may be overwritten, and what never is."""

import os
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.cli.output_files import OutputFile, check_file, show_files, write_files


@pytest.mark.parametrize("force", [False, True])
def test_a_pipe_is_never_replaced_by_a_file(tmp_path: Path, force: bool) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    for name in ("pipe", "link"):
        with pytest.raises(KitError, match=f"{name} is not a regular file"):
            write_files([OutputFile(tmp_path / "new", ""), OutputFile(tmp_path / name, "text")], force=force)
        with pytest.raises(KitError, match=f"{name} is not a regular file"):
            check_file(tmp_path / name)
    assert (tmp_path / "pipe").is_fifo()
    assert (tmp_path / "link").is_symlink()
    assert not (tmp_path / "new").exists()


def test_two_outputs_of_one_name_are_refused(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    files = [OutputFile(tmp_path / "a", "one"), OutputFile(tmp_path / "inner" / ".." / "a", "two")]
    for write in (write_files, show_files):
        with pytest.raises(KitError, match="is named for two outputs"):
            write(files, force=True)
    assert not (tmp_path / "a").exists()
