"""Data-parallel training on real ranks: equal parameters everywhere, and the gradient of the joint batch."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.distributed.jobs import DUMP, Job

pytestmark = pytest.mark.train

Parameters = Mapping[str, NDArray[np.float32]]

EXACT = (
    "model.freeze_batch_norm=True",  # otherwise each rank would normalise with the statistics of its own half
    "optimizer.opt=sgd",
    "optimizer.weight_decay=0",
    "train.clip_grad=False",
    "scheduler.scheduler=constant",
    "scheduler.lr=0.03",
    "system.val_while_train=False",
    "train.max_steps=3",
)


def parameters(job: Job, when: str, rank: int) -> Parameters:
    with np.load(job.folder / "run" / f"{when}_{rank}.npz") as file:
        return {name: file[name] for name in file.files}


def difference(one: Parameters, other: Parameters) -> dict[str, float]:
    """The largest difference of every parameter."""
    assert one.keys() == other.keys()
    return {name: float(np.abs(one[name] - other[name]).max()) for name in one}


def test_ranks_have_equal_parameters_before_and_after(two_ranks: Job) -> None:
    for when in ("before", "after"):
        zero, one = (parameters(two_ranks, when, rank) for rank in range(2))
        assert zero.keys() == one.keys()
        assert [name for name in zero if not np.array_equal(zero[name], one[name])] == []
    moved = difference(parameters(two_ranks, "before", 1), parameters(two_ranks, "after", 1))
    assert min(moved.values()) > 0, moved  # the statistics of batch normalisation too


def test_two_ranks_take_the_steps_of_one_process_with_the_joint_batch(new_job: Callable[[], Job]) -> None:
    """In PyNative mode too: parallel training in graph mode is announced to end (release notes of MindSpore 2.11)."""
    one, graph, pynative = new_job(), new_job(), new_job()
    for job, command in (
        (one, one.train(*EXACT, "train.loader.batch_size=16", program=DUMP)),
        (graph, graph.script(*EXACT, program=DUMP)),
        (pynative, pynative.script(*EXACT, "system.mode=1", program=DUMP)),
    ):
        done = job.run(command)
        assert done.returncode == 0, done.stdout + done.stderr
    before, after = (parameters(one, when, 0) for when in ("before", "after"))
    moved = difference(before, after)
    trained = {name: far for name, far in moved.items() if "moving_" not in name}
    assert sorted(trained.values())[len(trained) // 2] > 1e-3, trained
    assert {moved[name] for name in moved.keys() - trained.keys()} == {0.0}
    for two in (graph, pynative):
        assert max(difference(before, parameters(two, "before", 0)).values()) == 0
        apart = difference(after, parameters(two, "after", 0))
        assert max(apart.values()) < 1e-5, apart
        assert max(difference(parameters(two, "after", 0), parameters(two, "after", 1)).values()) == 0


@pytest.mark.long
def test_dropout_masks_differ_between_steps_and_ranks(job: Job) -> None:
    done = job.run(job.script("model.neck.dropout=0.1", "train.max_steps=4", program=DUMP))
    assert done.returncode == 0, done.stdout + done.stderr
    keys = [np.load(job.folder / "run" / f"keys_{rank}.npy") for rank in range(2)]
    assert [drawn.shape for drawn in keys] == [(4, 2), (4, 2)]  # before and after the LSTM
    assert len(np.unique(keys)) == 16
