"""The folder of a run: made for it, and only where no other user can replace it."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from hccl_kit.agent.run_folder import UnsafeError, new_run, trusted_logs

OTHER, GROUP = 4711, 4712
HERE, LOGS = "{here}", "{here}/hccl_logs"
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give a folder to another user")


class Case(NamedTuple):
    """Mode and owner of the current folder and of hccl_logs (mode 0: there is none), and what is printed."""

    mode: int
    owner: int = 0
    logs: int = 0
    owner_of_logs: int = 0
    group: int = 0
    says: Sequence[str] = ()


def everybody(folder: str) -> Sequence[str]:
    return (
        f"error: every user may write to the folder {folder}, and replace the logs of a job",
        f"  fix: chmod o-w {folder}, or start in a folder of your own",
    )


STRANGER = (
    f"error: the folder {LOGS} belongs to another user, who may replace the logs of a job",
    "  fix: start in a folder of your own",
)
OF_OTHER = f"note: the folder {HERE} belongs to user {OTHER}, who may replace the files of this job"
OF_GROUP = f"note: group {GROUP} may write to the folder {HERE}, and replace the files of this job"
CASES = [
    Case(0o700),
    Case(0o755, logs=0o700),
    Case(0o775),  # the group of root alone
    Case(0o777, says=everybody(HERE)),
    Case(0o757, logs=0o700, says=everybody(HERE)),
    Case(0o1777),
    Case(0o1777, logs=0o755, owner_of_logs=OTHER, says=STRANGER),
    Case(0o755, logs=0o777, says=everybody(LOGS)),
    Case(0o755, logs=0o1777),
    Case(0o775, group=GROUP, says=[OF_GROUP]),
    Case(0o1775, group=GROUP),
    Case(0o755, owner=OTHER, says=[OF_OTHER]),
    Case(0o755, owner=OTHER, logs=0o755, owner_of_logs=OTHER, says=[OF_OTHER]),
    Case(0o755, logs=0o755, owner_of_logs=OTHER, says=STRANGER),
]


def said(folder: Path) -> list[str]:
    notes: list[str] = []
    try:
        assert trusted_logs(folder / "hccl_logs", notes.append).is_dir()
    except UnsafeError as error:
        return [*(f"note: {note}" for note in notes), *f"error: {error}".splitlines()]
    return [f"note: {note}" for note in notes]


@needs_root
@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_folder_that_others_may_write_to_is_refused_or_named(tmp_path: Path, case: Case) -> None:
    folder = tmp_path / "job"
    folder.mkdir()
    if case.logs:
        (folder / "hccl_logs").mkdir()
        (folder / "hccl_logs").chmod(case.logs)
        os.chown(folder / "hccl_logs", case.owner_of_logs, 0)
    folder.chmod(case.mode)
    os.chown(folder, case.owner, case.group)
    assert said(folder) == [line.format(here=folder) for line in case.says]
    assert (folder / "hccl_logs").exists() == (bool(case.logs) or not any(line[0] == "e" for line in case.says))


@needs_root
def test_a_link_of_another_user_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "hccl_logs").symlink_to("mine")
    assert said(tmp_path) == []
    os.chown(tmp_path / "hccl_logs", OTHER, 0, follow_symlinks=False)
    assert said(tmp_path) == [line.format(here=tmp_path) for line in STRANGER]


def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    assert [new_run(tmp_path, "a").name for _ in range(3)] == ["a", "a-2", "a-3"]
    (tmp_path / "b").symlink_to("nowhere")
    assert new_run(tmp_path, "b").name == "b-2"
