"""Output paths are checked before the work, existing files are kept, and a failure leaves no partial output."""

import os
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.base.output_place import assert_free_files, assert_free_folder, staged


def test_a_new_file_is_accepted_and_the_check_creates_nothing(tmp_path: Path) -> None:
    assert_free_files([tmp_path / "a", tmp_path / "b"], "--json", force=False)
    assert_free_folder(tmp_path / "new" / "deep", "--output", force=False)
    assert list(tmp_path.iterdir()) == []


def test_an_existing_file_is_overwritten_only_with_force(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")
    (tmp_path / "b").write_text("mine")
    with pytest.raises(KitError, match=f"^--json: {tmp_path}/a, {tmp_path}/b already exists$") as caught:
        assert_free_files([tmp_path / name for name in "abc"], "--json", force=False)
    assert caught.value.hint == "--force overwrites it, or write elsewhere"
    assert_free_files([tmp_path / "a"], "--json", force=True)
    with pytest.raises(KitError, match=f"^--picture: {tmp_path} already exists$"):
        assert_free_folder(tmp_path, "--picture", force=False)
    assert_free_folder(tmp_path, "--picture", force=True)


@pytest.mark.parametrize("force", [False, True])
def test_a_path_that_cannot_be_a_file_is_refused_even_with_force(tmp_path: Path, force: bool) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    wrong = {
        "no/a": "the folder .* does not exist",
        "file/a": "cannot write into .*/file: Not a directory",
        "link": "link is not a regular file",
        "pipe": "pipe is not a regular file",
        ".": "is a folder",
    }
    for name, message in wrong.items():
        with pytest.raises(KitError, match=f"^--json: .*{message}"):
            assert_free_files([tmp_path / name], "--json", force=force)
    for name in ("file", "file/a"):
        with pytest.raises(KitError, match=r"^--output: cannot write into .*/file: Not a directory"):
            assert_free_folder(tmp_path / name, "--output", force=force)
    with pytest.raises(KitError, match="is not a regular file"):
        assert_free_files([Path("/dev/null")], "--json", force=force)


def test_a_folder_without_write_permission_is_reported_before_the_work(tmp_path: Path) -> None:
    if os.geteuid() == 0:
        place = Path("/proc/sys")  # not even root can create files here
    else:
        place = tmp_path
        place.chmod(0o500)
    with pytest.raises(KitError, match=f"^--json: cannot write into {place}: "):
        assert_free_files([place / "a"], "--json", force=False)


def test_the_hint_creates_the_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(KitError) as caught:
        assert_free_files([tmp_path / "a b" / "c"], "--json", force=False)
    assert caught.value.hint == f"mkdir -p '{tmp_path}/a b'"


def test_staged_files_appear_together(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "set"
    folder.mkdir(parents=True)
    for name in ("old", "other"):
        (folder / name).write_text("before")
    with staged(folder) as place:
        (place / "old").write_text("after")
        (place / "new").write_text("after")
        assert not (folder / "new").exists()
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "old": "after", "new": "after", "other": "before",
    }  # fmt: skip
    assert list((tmp_path / "deep").iterdir()) == [folder]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_no_staged_files(tmp_path: Path, error: type[BaseException]) -> None:
    with pytest.raises(error), staged(tmp_path / "set") as place:
        (place / "new").write_text("half")
        raise error
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(KitError, match=r"cannot write into .*/file/set: "), staged(tmp_path / "file" / "set"):
        pass


def test_a_read_error_is_not_reported_as_a_write_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sets").mkdir()
    monkeypatch.chdir(tmp_path / "sets")
    for folder in (Path("set"), tmp_path / "sets" / "set"):
        with pytest.raises(PermissionError), staged(folder):
            raise PermissionError(13, "Permission denied", str(tmp_path / "images"))
        with pytest.raises(KitError, match=r"cannot write into .*set: No space left"), staged(folder) as place:
            raise OSError(28, "No space left on device", str(place / "new"))


def test_a_new_folder_is_not_called_like_a_picture(tmp_path: Path) -> None:
    with pytest.raises(KitError, match=r"--picture .*/p\.PNG is the name of a picture; accepted: a folder") as caught:
        assert_free_folder(tmp_path / "p.PNG", "--picture", force=True)
    assert caught.value.hint == f"--picture {tmp_path / 'p'}"
    (tmp_path / "old.png").mkdir()
    assert_free_folder(tmp_path / "old.png", "--picture", force=False)
