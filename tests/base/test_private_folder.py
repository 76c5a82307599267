"""Whose folders are trusted."""

import os
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.base.private_folder import make_private

OTHER = 65534


def test_a_new_folder_is_for_this_user_alone(tmp_path: Path) -> None:
    before = os.umask(0o002)
    try:
        make_private(tmp_path / "a" / "b" / "c")
    finally:
        os.umask(before)
    for path in ("a", "a/b", "a/b/c"):
        assert (tmp_path / path).stat().st_mode & 0o777 == 0o700
    make_private(tmp_path / "a" / "b")


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o1777], ids=oct)
def test_a_folder_that_others_may_write_is_refused(tmp_path: Path, mode: int) -> None:
    (folder := tmp_path / "my cache").mkdir()
    folder.chmod(mode)
    with pytest.raises(KitError, match=f"others may write into {folder}") as caught:
        make_private(folder)
    assert caught.value.hint == f"chmod go-w '{folder}'"


@pytest.mark.parametrize(("mode", "is_refused"), [(0o777, True), (0o1777, False), (0o775, False)], ids=str)
def test_so_is_one_that_others_may_replace(tmp_path: Path, mode: int, is_refused: bool) -> None:
    tmp_path.chmod(mode)
    if is_refused:
        with pytest.raises(KitError, match=f"others may write into {tmp_path}"):
            make_private(tmp_path / "graphs")
    else:
        make_private(tmp_path / "graphs")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
def test_a_folder_of_root_is_accepted_and_one_of_another_user_is_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("root", "theirs"):
        (tmp_path / name).mkdir()
    os.chown(tmp_path / "theirs", OTHER, OTHER)
    for user in (0, 1234):
        monkeypatch.setattr(os, "geteuid", lambda user=user: user)
        make_private(tmp_path / "root")
        with pytest.raises(KitError, match="theirs belongs to another user") as caught:
            make_private(tmp_path / "theirs")
        assert "HCCL_KIT_CACHE" in (caught.value.hint or "")
    monkeypatch.setattr(os, "geteuid", lambda: OTHER)
    make_private(tmp_path / "theirs")
