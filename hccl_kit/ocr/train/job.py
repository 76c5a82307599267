"""One training run: everything that is built before its first step."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from mindspore import Parameter, nn
from numpy.typing import NDArray

from hccl_kit.base.leftovers import sweep
from hccl_kit.ocr.checkpoints import dictionary_mark
from hccl_kit.ocr.checkpoints.checkpoint import Progress
from hccl_kit.ocr.checkpoints.previous_run import make_room, restarts_of_run, wanted_start
from hccl_kit.ocr.config import BEST, Config
from hccl_kit.ocr.data.data_folder import guards
from hccl_kit.ocr.data.feed import Feed
from hccl_kit.ocr.infer.inference import Evaluator
from hccl_kit.ocr.run.consistency import answer_of_first_rank, assert_one_data_set, assert_one_dictionary
from hccl_kit.ocr.run.log import RunLog
from hccl_kit.ocr.tasks import recipes
from hccl_kit.ocr.tasks.task import Task
from hccl_kit.ocr.train import build, parameters, resume, schedule
from hccl_kit.ocr.train.step import TrainStep
from hccl_kit.runtime.heartbeat import Heartbeat
from hccl_kit.runtime.join import World


@dataclass(frozen=True, slots=True)
class Job:
    """The parts of a run. Its progress is not among them: the loop holds that."""

    config: Config
    world: World
    log: RunLog
    heartbeat: Heartbeat
    task: Task
    feed: Feed
    evaluator: Evaluator | None
    """Its scores choose the best weights."""
    test: Evaluator | None
    """Of the data that chooses nothing, to be used once; None without `train.validation`."""
    guard: Mapping[str, Evaluator]
    """Of the sets of `eval.guard`, by their names there."""
    network: nn.Cell
    step: TrainStep
    start: Progress
    """Step 0, or the progress of the checkpoint from which the run resumes."""
    initial: Mapping[str, NDArray[np.float32]]
    """The trainable parameters at the start, by name."""
    left_out: int
    """Samples of the training set that cannot be used."""
    began: float
    """`time.perf_counter()` before anything was built."""

    @property
    def folder(self) -> Path:
        """The folder of the run."""
        return Path(self.config["train"]["ckpt_save_dir"])

    @property
    def last_step(self) -> int:
        """The steps of the whole run, those before a resume included."""
        steps: int = self.config["scheduler"]["num_epochs"] * self.feed.steps_per_epoch
        return min(steps, self.config["train"]["max_steps"] or steps)

    def open(self) -> None:
        """Begin to write the files of the run, and move those of an earlier run aside first (rank 0).

        Every rank must call it, when nothing is left that could keep the run from starting. Raises JointError if the
        files cannot be moved.
        """
        self.world.all_reduce(np.zeros(1, np.float32))  # every rank has come this far
        answer = answer_of_first_rank(self.world, lambda: _made_room(self.config))
        self.log.open(resumed=answer["resumed"])
        for note in answer["notes"]:
            self.log.say(note)
        self.log.rewind(self.start.step)

    def save(self, progress: Progress) -> None:
        """Write what a resumed run needs (rank 0)."""
        if self.world.is_main:
            mark = dictionary_mark.mark(self.task.dictionary, self.task.characters)
            resume.save(self.folder, [*self.step.state, *mark], progress)


def build_job(config: Config, world: World, log: RunLog) -> Job:
    """Read the data sets, build network and training step, and load the checkpoint if the run resumes.

    Every rank must call it. Raises KitError if the configuration, the data or the checkpoint do not allow the run.
    """
    began = time.perf_counter()
    task = recipes.task(config)
    assert_one_dictionary(task.dictionary, world)
    samples, left_out = task.train_samples(log.warn)
    assert_one_data_set("train", samples, world)
    feed = Feed(
        config["train"],
        samples,
        task.collate,
        lengths=task.lengths(samples, world, log.warn),
        batch=build.batch_of_a_rank(config, world),
        rank=world.rank,
        size=world.size,
        warn=log.warn,
    )
    for warning in schedule.warnings(config["scheduler"], feed.steps_per_epoch):
        log.warn(warning)
    evaluator, test = _evaluators(config, world, log)
    network = build.network_to_train(config, world, log.say)
    step = build.train_step(config, network, task, world, log.say)
    return Job(
        config=config,
        world=world,
        log=log,
        heartbeat=Heartbeat.from_environ(os.environ, rank=world.rank),
        task=task,
        feed=feed,
        evaluator=evaluator,
        test=test,
        guard={name: Evaluator(other, world, log.warn) for name, other in guards(config).items()},
        network=network,
        step=step,
        start=_start(config, world, log, step.state, task.dictionary),
        initial=parameters.copy(network),
        left_out=left_out,
        began=began,
    )


def _evaluators(config: Config, world: World, log: RunLog) -> tuple[Evaluator | None, Evaluator | None]:
    """The evaluation that chooses weights, and the one at the end of a run whose weights another part has chosen."""
    share = config["train"]["validation"]
    if not share:
        return (Evaluator(config, world, log.warn) if "eval" in config else None), None
    validation, test = Evaluator(config.on_validation(), world, log.warn), Evaluator(config, world, log.warn)
    log.say(
        f"train.validation {share:g}: {len(validation.samples)} {test.task.units} of train.dataset are not trained and "
        f"choose {BEST}; the {len(test.samples)} of eval.dataset are read once, at the end"
    )
    return validation, test


def _start(config: Config, world: World, log: RunLog, state: list[Parameter], dictionary: str) -> Progress:
    """Where the run begins, decided by rank 0; `state` is set to it."""
    restart = restarts_of_run(config, os.environ)
    if world.is_main:
        sweep(Path(config["train"]["ckpt_save_dir"]))
    start = resume.begin(config, world, state, restart=restart, dictionary=dictionary)
    for note in start.notes:
        log.say(note)
    if start.path is not None:
        prefix = f"restart {restart}: " if restart else ""
        log.say(f"{prefix}resumed from {start.path} after step {start.progress.step}")
    return replace(start.progress, job=resume.job_of(config, world.size))


def _made_room(config: Config) -> dict[str, Any]:
    """Whether the run continues files of an earlier part of it, and notes. Raises KitError as `make_room` does."""
    resumed = bool(wanted_start(config) or restarts_of_run(config, os.environ))
    return {"resumed": resumed, "notes": make_room(config, os.environ)}
