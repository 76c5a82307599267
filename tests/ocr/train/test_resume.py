"""The start of a run: from its last complete checkpoint, and never silently from another one."""

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mindspore import Tensor

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config
from hccl_kit.ocr.checkpoints import dictionary_mark
from hccl_kit.ocr.checkpoints.checkpoint import Progress
from hccl_kit.ocr.checkpoints.previous_run import KEPT, PREVIOUS, RESUME
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.train import resume
from hccl_kit.ocr.train.resume import Start
from hccl_kit.runtime.worker_env import RESTART
from tests.ocr.run_tool import CONFIG
from tests.ocr.tiny import ALONE, Normed, values


def config_of(folder: Path, **system: Any) -> Config:
    overrides = [f"system.{key}={value}" for key, value in system.items()]
    return config.load(CONFIG, [f"train.ckpt_save_dir={folder}", *overrides])


def saved(folder: Path, *steps: int, job: str = "") -> list[Normed]:
    """Networks that are saved at these steps, one after the other."""
    networks = []
    for step in steps:
        networks.append(Normed())
        resume.save(folder, networks[-1].get_parameters(), Progress(step, 0.5, job))
    return networks


def begin(folder: Path, restart: int = 0, **system: Any) -> tuple[Start, Normed]:
    network = Normed()
    return resume.begin(config_of(folder, **system), ALONE, list(network.get_parameters()), restart=restart), network


def assert_equal(one: Normed, other: Normed) -> None:
    for name, value in values(one).items():
        np.testing.assert_array_equal(value, values(other)[name])


def own_job(folder: Path) -> str:
    return resume.job_of(config_of(folder), 1)


def test_a_first_start_begins_at_step_0(tmp_path: Path) -> None:
    start, _ = begin(tmp_path)
    assert start == Start(Progress())


def test_a_restart_resumes_from_the_last_file(tmp_path: Path) -> None:
    networks = saved(tmp_path, 3, 6, 9, job=own_job(tmp_path))
    start, network = begin(tmp_path, restart=1)
    assert start == Start(Progress(9, 0.5, own_job(tmp_path)), tmp_path / RESUME)
    assert_equal(network, networks[2])
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([RESUME, PREVIOUS])


@pytest.mark.parametrize("system", [{}, {"resume": True}])
def test_a_damaged_file_is_skipped_and_the_previous_one_used(tmp_path: Path, system: dict[str, Any]) -> None:
    networks = saved(tmp_path, 3, 6, job=resume.job_of(config_of(tmp_path, **system), 1))
    data = (tmp_path / RESUME).read_bytes()
    for size in (0, len(data) // 2, len(data) - 60, len(data) - 1):
        (tmp_path / RESUME).write_bytes(data[:size])
        start, network = begin(tmp_path, restart=not system, **system)
        assert (start.path, start.progress.step) == (tmp_path / PREVIOUS, 3)
        assert start.notes[0].startswith(f"warning: the checkpoint {tmp_path / RESUME} is damaged")
        assert_equal(network, networks[0])


def test_a_crash_between_two_files_leaves_the_one_before(tmp_path: Path) -> None:
    saved(tmp_path, 3, 6, job=own_job(tmp_path))
    (tmp_path / RESUME).unlink()
    assert begin(tmp_path, restart=1)[0].progress.step == 3


def test_a_restart_without_a_complete_file_starts_at_step_0_and_logs_it(tmp_path: Path) -> None:
    no_checkpoint = "no checkpoint to resume from: starting at step 0"
    assert begin(tmp_path, restart=1)[0] == Start(Progress(), None, (no_checkpoint,))
    saved(tmp_path, 3, job=own_job(tmp_path))
    (tmp_path / RESUME).write_bytes(b"cut")
    start, _ = begin(tmp_path, restart=1)
    assert (start.progress, start.path, start.notes[-1]) == (Progress(), None, no_checkpoint)


def test_a_restart_with_another_configuration_is_refused(tmp_path: Path) -> None:
    saved(tmp_path, 3, job=own_job(tmp_path))
    with pytest.raises(
        KitError, match=f"{tmp_path / RESUME} was written with another configuration or number"
    ) as caught:
        begin(tmp_path, restart=1, seed=7)
    assert RESTART in (caught.value.hint or "")


def test_the_job_is_identified_by_configuration_and_number_of_ranks(tmp_path: Path) -> None:
    one = config_of(tmp_path)
    jobs = {resume.job_of(one, 1), resume.job_of(one, 2), resume.job_of(config_of(tmp_path, seed=7), 1)}
    assert len(jobs) == 3


def test_a_restart_of_a_run_from_another_file_resumes_from_its_own_checkpoint(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    saved(other, 30)
    named: dict[str, Any] = {"resume": other / RESUME}
    assert begin(tmp_path, **named)[0].progress.step == 30
    assert begin(tmp_path, restart=1, **named)[0].progress.step == 30  # it ended before its first checkpoint
    saved(tmp_path, 33, job=resume.job_of(config_of(tmp_path, **named), 1))
    assert begin(tmp_path, restart=2, **named)[0].progress.step == 33


def test_a_resumed_run_keeps_its_files_and_accepts_any_configuration(tmp_path: Path) -> None:
    saved(tmp_path, 3, 6, job="ab" * 32)
    for restart in (0, 1):  # the restart ended before its first checkpoint
        start, _ = begin(tmp_path, restart=restart, resume=True)
        assert (start.progress.step, start.path) == (6, tmp_path / RESUME)


def test_a_damaged_index_is_an_error_before_the_first_step(tmp_path: Path) -> None:
    """Not at the first evaluation, hours later."""
    saved(tmp_path, 3, job=own_job(tmp_path))
    (tmp_path / KEPT).write_text("{")
    with pytest.raises(KitError, match=KEPT):
        begin(tmp_path, restart=1)


@pytest.mark.parametrize(
    ("content", "message"), [(None, "there is no checkpoint"), (b"cut", "is damaged or not a checkpoint")]
)
def test_a_requested_file_must_be_complete(tmp_path: Path, content: bytes | None, message: str) -> None:
    if content:
        (tmp_path / RESUME).write_bytes(content)
    for wanted in (True, tmp_path / RESUME):
        with pytest.raises(KitError, match=message):
            begin(tmp_path, resume=wanted)


def test_a_file_that_does_not_match_changes_nothing(tmp_path: Path) -> None:
    network = Normed()
    rows = [parameter for parameter in network.get_parameters() if parameter.name != "head.bias"]
    resume.save(tmp_path, rows, Progress(3, 0.5, own_job(tmp_path)))
    network = Normed()
    network.head.weight.set_data(Tensor(np.ones((2, 3), np.float32)))
    with pytest.raises(KitError, match=r"head\.bias is missing"):
        resume.begin(config_of(tmp_path), ALONE, list(network.get_parameters()), restart=1)
    assert (network.head.weight.asnumpy() == 1).all()


def test_a_file_of_another_dictionary_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    """With as many characters every shape agrees, but the classes mean other characters."""
    rows = [*Normed().get_parameters(), *dictionary_mark.mark(hashlib.sha256(b"ab").hexdigest(), "ab")]
    resume.save(tmp_path, rows, Progress(3))
    network = Normed()
    before, state = values(network), list(network.get_parameters())
    loaded = config_of(tmp_path, resume=True)
    with pytest.raises(KitError, match=f"{tmp_path / RESUME} was trained with another dictionary"):
        resume.begin(loaded, ALONE, state, restart=0, dictionary=hashlib.sha256(b"ba").hexdigest())
    for name, value in values(network).items():
        np.testing.assert_array_equal(value, before[name])
    same = resume.begin(loaded, ALONE, state, restart=0, dictionary=hashlib.sha256(b"ab").hexdigest())
    assert same.progress.step == 3
