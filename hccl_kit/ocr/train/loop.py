"""The loop that trains every model of this project, on one rank or many."""

from __future__ import annotations

import json
import os
import time
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from hccl_kit.base.errors import EXIT_FINDINGS, under_way
from hccl_kit.ocr.checkpoints import checkpoint, dictionary_mark, retention
from hccl_kit.ocr.checkpoints.checkpoint import Progress
from hccl_kit.ocr.checkpoints.previous_run import ARCHIVE, METRICS, SUMMARY, restarts, stale_exports
from hccl_kit.ocr.config import BEST, Config
from hccl_kit.ocr.data.feed import Feed
from hccl_kit.ocr.data.loader import Batch
from hccl_kit.ocr.infer.evaluate import Evaluator
from hccl_kit.ocr.run import curves
from hccl_kit.ocr.run.consistency import assert_one_data_set
from hccl_kit.ocr.run.journal import Journal
from hccl_kit.ocr.tasks import recipes
from hccl_kit.ocr.tasks.task import Counts
from hccl_kit.ocr.train import build, parameters, resume, schedule
from hccl_kit.ocr.train.step import StepResult
from hccl_kit.ocr.train.timing import Clock
from hccl_kit.runtime import JointError, World
from hccl_kit.runtime.heartbeat import Heartbeat

CURVES = "curves.png"
WATCH = 10
"""Steps after which weights that have not moved end the run."""


class TrainingError(JointError):
    """The training went wrong, on all ranks alike: exit code 1."""

    exit_code = EXIT_FINDINGS


def train(config: Config, world: World, journal: Journal) -> dict[str, Any]:
    """Train, evaluate and write every file of the run; returns what summary.json holds.

    TrainingError where the gradient is not finite, the weights do not move or the ranks drift apart. What fails from
    the first step on has exit code 1, also a full disk: started again, the run goes on from its last checkpoint.
    """
    run = _Run(config, world, journal)
    with under_way():
        return run.run()


class _Run:
    """One training: its parts, and how far it is."""

    def __init__(self, config: Config, world: World, journal: Journal) -> None:
        self.began = time.perf_counter()
        self.config, self.world, self.journal = config, world, journal
        self.folder = Path(config["train"]["ckpt_save_dir"])
        self.task = recipes.task(config)
        usable, self.left_out = self.task.train_samples(journal.warn)
        assert_one_data_set("train", len(usable), world)
        self.feed = Feed(
            config["train"],
            usable,
            self.task.collate,
            lengths=self.task.lengths(usable, world),
            batch=build.batch_of_a_rank(config, world),
            rank=world.rank,
            size=world.size,
            warn=journal.warn,
        )
        build.warn_of_the_schedule(config, self.feed.steps_per_epoch, journal.warn)
        self.heartbeat = Heartbeat.from_environ(os.environ, rank=world.rank)
        self.evaluator = (
            Evaluator(config, world, journal.warn, alive=lambda: self.heartbeat.beat(self.progress.step))
            if "eval" in config
            else None
        )
        self.network = build.network_to_train(config, world, journal.say)
        self.step = build.train_step(config, self.network, self.task, world)
        self.restart = restarts(os.environ)
        self.progress = self._begin()
        self.first = self.progress.step
        self.initial = parameters.copy(self.network)

    def run(self) -> dict[str, Any]:
        """All steps, then the last evaluation and the summary."""
        first, last = self.first, self._last_step()
        self.journal.write(ARCHIVE, self.config.to_yaml())
        self.journal.say(
            f"{len(self.feed.samples)} samples, {self.feed.steps_per_epoch} steps an epoch, {last} steps in all, "
            f"{sum(value.size for value in self.initial.values())} parameters to train"
        )
        if first < last:
            self.journal.remove(SUMMARY)
            self._evaluate_if_cut_off(first)
        else:
            self.journal.warn(
                f"no step is left: {first} are done, and scheduler.num_epochs and train.max_steps ask for {last}; "
                "the run is evaluated and summarised"
            )
        compilation, whole = self._train_steps(first, last)
        if first < last:
            self._save_progress()
            self._assert_moved()
        if self.evaluator is None:
            self._keep_last()
        return self._summarise(self._evaluate() if self.evaluator else None, compilation, whole)

    def _train_steps(self, first: int, last: int) -> tuple[Clock, Clock]:
        """Steps `first` to `last`; the clocks of the first one, which compiles the network, and of all others."""
        compilation, whole, interval, losses = Clock(), Clock(), Clock(), []
        waited = time.perf_counter()
        seed = self.config["system"]["seed"]
        for step, batch in self.feed.batches(first, last, seed=seed):
            data_s = time.perf_counter() - waited
            if not step and self.world.is_main:
                self.journal.picture("first_batch", self.task.picture(batch), 0)
            rate = schedule.learning_rate(step, self.config["scheduler"], self.feed.steps_per_epoch)
            result = self.step(batch, rate, seed=(seed, step, self.world.rank))
            self._assert_finite(result, batch, step)
            losses.append(result.loss)
            for clock in (compilation,) if step == first else (whole, interval):
                clock.add(data_s, result, self.feed.joint_batch)
            done = step + 1
            self.progress = replace(self.progress, step=done)
            self.heartbeat.beat(done)
            if done - first == WATCH:
                self._assert_moved()
                self._name_without_gradient()
            if done % self.config["system"]["log_interval"] == 0 or done == last:
                self._report(interval, float(np.mean(losses)), rate, last)
                interval, losses = Clock(), []
            evaluation_is_due = self._evaluation_is_due(done)
            if done < last and (evaluation_is_due or done % self.config["train"]["resume_interval_steps"] == 0):
                self._save_progress()
            if done < last and evaluation_is_due:
                self._evaluate()
            waited = time.perf_counter()
        return compilation, whole

    def _evaluate_if_cut_off(self, step: int) -> None:
        """An evaluation that is due after the checkpoint from which this run goes on, but was cut off."""
        if step and self._evaluation_is_due(step) and self.world.share("again" * (not self.journal.evaluated(step))):
            self._evaluate()

    def _evaluation_is_due(self, done: int) -> bool:
        """After every `val_interval` epochs, `val_start_epoch` the first; never where it is switched off."""
        system = self.config["system"]
        epoch, rest = divmod(done, self.feed.steps_per_epoch)
        due: bool = system["val_while_train"] and epoch >= system["val_start_epoch"]
        return due and not rest and epoch % system["val_interval"] == 0

    def _last_step(self) -> int:
        steps: int = self.config["scheduler"]["num_epochs"] * self.feed.steps_per_epoch
        return min(steps, self.config["train"]["max_steps"] or steps)

    def _begin(self) -> Progress:
        """Rank 0 finds out where the run begins; what lies after that in the files of the run is taken back."""
        if self.world.is_main:
            checkpoint.sweep(self.folder)
        state = parameters.state(self.network, self.step)
        start = resume.begin(self.config, self.world, state, restart=self.restart)
        for note in start.notes:
            self.journal.say(note)
        if start.path is not None:
            which = f"restart {self.restart}: " if self.restart else ""
            self.journal.say(f"{which}resumed from {start.path} after step {start.progress.step}")
        self.journal.rewind(start.progress.step)
        return replace(start.progress, job=resume.job_of(self.config, self.world.size))

    def _save_progress(self) -> None:
        """What a resumed run needs; saved before an evaluation too, which may fail."""
        if self.world.is_main:
            resume.save(self.folder, parameters.state(self.network, self.step), self.progress)

    def _evaluate(self) -> Counts:
        """Evaluate, with the average of the weights where one is kept; rank 0 keeps the best weights and some more."""
        assert self.evaluator is not None
        started = time.perf_counter()
        with self.step.ema.applied() if self.step.ema is not None else nullcontext():
            counts, _ = self.evaluator(self.network)
            score = counts.score(self.config["metric"]["main_indicator"])
            is_best = score > self.progress.best
            self.progress = replace(self.progress, best=max(score, self.progress.best))
            if self.world.is_main:
                self._keep(score, is_best=is_best)
        if is_best:
            self._save_progress()
        self.journal.say(
            f"evaluation after step {self.progress.step}: {counts}{', the best so far' if is_best else ''}, "
            f"{time.perf_counter() - started:.1f} s"
        )
        self.journal.metrics({"step": self.progress.step, **counts.row()})
        return counts

    def _keep_last(self) -> None:
        """What a run without an evaluation gives."""
        with self.step.ema.applied() if self.step.ema is not None else nullcontext():
            if self.world.is_main:
                self._keep(0.0, is_best=True)

    def _keep(self, score: float, *, is_best: bool) -> None:
        system = self.config["system"]
        weights = [*self.network.get_parameters(), *dictionary_mark.mark(self.task.dictionary)]
        if is_best:
            checkpoint.save(self.folder / BEST, weights)
        policy, most = system["ckpt_save_policy"], system["ckpt_max_keep"]
        retention.save(self.folder, weights, (self.progress.step, score), policy=policy, most=most)

    def _report(self, interval: Clock, loss: float, rate: float, last: int) -> None:
        step = self.progress.step
        epoch = (step - 1) // self.feed.steps_per_epoch
        parts = [
            f"step {step}/{last} epoch {epoch} loss {loss:.4f} lr {rate:.2e} {interval}",
            interval.left(last - step),
        ]
        self.journal.say(", ".join(filter(None, parts)))
        self.journal.metrics({"step": step, "epoch": epoch, "loss": loss, "lr": rate, **interval.row()})

    def _name_without_gradient(self) -> None:
        idle = self.step.without_gradient
        if idle:
            more = f" and {len(idle) - 5} more" if len(idle) > 5 else ""
            self.journal.warn(f"{len(idle)} parameters got no gradient in {WATCH} steps: {', '.join(idle[:5])}{more}")

    def _assert_finite(self, result: StepResult, batch: Batch, step: int) -> None:
        if result.skipped:
            self.journal.say(
                f"step {step + 1} overflowed with loss scale {result.scale:g}: the weights stay, it is lowered"
            )
        if result.finite or result.skipped:
            return
        names = ", ".join(str(sample.path) for sample in batch.samples[:8])
        raise TrainingError(
            f"step {step + 1} is not finite (loss {result.loss}, gradient norm {result.norm}); "
            f"the weights were not touched. Samples of this rank: {names}",
            hint="lower scheduler.lr, set train.clip_grad: True, look at the samples",
        )

    def _assert_moved(self) -> None:
        """A resumed run is not asked: it may have the last steps left, whose rate is next to nothing."""
        if self.first:
            return
        still = parameters.still(self.initial, self.network)
        weights = [name for name, value in self.initial.items() if value.ndim > 1]
        if still == weights:
            raise TrainingError(
                f"the weights have not moved until step {self.progress.step}",
                hint="is scheduler.lr too small to matter?",
            )
        if still:
            self.journal.warn(f"{len(still)} of {len(weights)} weights have not moved, such as {still[0]}")

    def _summarise(self, counts: Counts | None, compilation: Clock, whole: Clock) -> dict[str, Any]:
        still = parameters.still(self.initial, self.network)
        digests = parameters.gather_digests(self.network, self.world)
        bad = self.world.all_reduce(np.array([len(self.feed.bad)], np.float32))
        measured = whole if whole.samples else compilation  # a run of one step has nothing else
        summary = {
            "world_size": self.world.size,
            "launcher": self.world.launcher,
            "device_target": self.world.device_target,
            "steps": self.progress.step,
            **(counts.row() if counts else {}),
            "best": self.progress.best,
            "wall_s": round(time.perf_counter() - self.began, 2),
            "compile_s": round(compilation.total_s, 2),
            "train_s": round(whole.total_s, 2),
            **measured.row(),
            "weights_changed": any(value.ndim > 1 and name not in still for name, value in self.initial.items())
            if measured.samples
            else None,
            "ranks_equal": len(set(digests)) == 1,
            "parameters_sha256": digests,
            "bad_samples": int(bad[0]) + self.left_out,
            "config_sha256": self.config.digest,
        }
        self.journal.write(SUMMARY, json.dumps(summary, indent=4) + "\n")
        if self.world.is_main:
            curves.draw(self.folder / METRICS, self.folder / CURVES)
        if not summary["ranks_equal"]:
            raise TrainingError("the ranks end with different parameters; summary.json has the digest of each")
        for path in stale_exports(self.folder) if self.world.is_main else ():
            self.journal.warn(f"{path} is older than {BEST}: export it again")
        self.journal.say(f"{counts or 'not evaluated'}; {measured}; see {self.folder}")
        return summary
