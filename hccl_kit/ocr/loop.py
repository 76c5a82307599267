"""The loop that trains every model of this project, on one rank or many."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from mindspore import Tensor, nn
from numpy.typing import NDArray

from hccl_kit.errors import EXIT_FINDINGS, KitError
from hccl_kit.ocr import checkpoint, optimizer, recipes, schedule
from hccl_kit.ocr.checkpoint import Progress
from hccl_kit.ocr.config import Config
from hccl_kit.ocr.data import loader, samples, transforms
from hccl_kit.ocr.evaluate import Evaluator
from hccl_kit.ocr.journal import Journal
from hccl_kit.ocr.metrics.words import WordCounts
from hccl_kit.ocr.step import StepResult, TrainStep, freeze_batch_norm
from hccl_kit.world import World

BEST, RESUME = "best.ckpt", "train_resume.ckpt"
MOVED_BY = 10
"""Steps after which weights that never moved end the run."""


class TrainingError(KitError):
    """The training went wrong: exit code 1."""

    exit_code = EXIT_FINDINGS


@dataclass
class Clock:
    """Where the time of the steps since the last line went, in seconds, and how many samples they took."""

    data: float = 0.0
    compute: float = 0.0
    communication: float = 0.0
    samples: int = 0
    losses: list[float] = field(default_factory=list)

    @property
    def total(self) -> float:
        """Seconds of all parts."""
        return self.data + self.compute + self.communication


def train(config: Config, world: World, journal: Journal) -> dict[str, Any]:
    """Train, evaluate and write every file of the run; returns what summary.json holds.

    TrainingError where the loss is not finite or the weights do not move.
    """
    return _Run(config, world, journal).run()


class _Run:
    """One training: its parts, and how far it is."""

    def __init__(self, config: Config, world: World, journal: Journal) -> None:
        self.config, self.world, self.journal = config, world, journal
        self.began = time.perf_counter()
        self.folder = Path(config["train"]["ckpt_save_dir"])
        self.samples = _usable_samples(config, journal)
        self.transform = transforms.pipeline(config["train"]["dataset"]["transform_pipeline"])
        joint = config["train"]["loader"]["batch_size"] * world.size
        self.steps_per_epoch = len(self.samples) // joint
        if not self.steps_per_epoch:
            raise KitError(
                f"{len(self.samples)} samples make no step of {joint} ({world.size} ranks x batch size)",
                hint="set train.loader.batch_size lower",
            )
        self.evaluator = Evaluator(config, world, journal.warn)
        self.network, self.step = _build(config, world)
        self.progress = self._resume()
        self.initial = _flatten(self.network)
        self.bad: set[str] = set()

    def run(self) -> dict[str, Any]:
        """All steps, then the last evaluation and the summary."""
        config, clock, whole = self.config, Clock(), Clock()
        last = self._last_step()
        self.journal.write("train_config.yaml", config.to_yaml())
        self.journal.say(
            f"{len(self.samples)} samples, {self.steps_per_epoch} steps an epoch, {last} steps in all, "
            f"{sum(p.size for p in self.network.trainable_params())} parameters"
        )
        counts, compile_s = WordCounts(), 0.0
        first = self.progress.step
        waited = time.perf_counter()
        for step, batch in self._batches(first, last):
            data_s = time.perf_counter() - waited
            self._note_bad(batch)
            rate = schedule.learning_rate(step, config["scheduler"], self.steps_per_epoch)
            result = self.step(batch, rate)
            self._assert_finite(result, batch, step)
            self.progress = Progress(step + 1, self.progress.best)
            if step == first:
                compile_s = data_s + result.compute_s + result.communication_s
                self.journal.say(f"first step, with compilation: {compile_s:.1f} s")
            else:
                for part in (clock, whole):
                    _count(part, data_s, result, config["train"]["loader"]["batch_size"] * self.world.size)
            clock.losses.append(result.loss)
            if step + 1 - first == MOVED_BY:
                self._assert_moved()
            if (step + 1) % config["system"]["log_interval"] == 0 or step + 1 == last:
                self._report(clock, rate, last)
                clock = Clock()
            if self._evaluates_after(step + 1) and step + 1 < last:
                self._evaluate()
            waited = time.perf_counter()
        changed = self._assert_moved()
        counts = self._evaluate()
        return self._summarise(counts, whole, compile_s=compile_s, changed=changed)

    def _last_step(self) -> int:
        steps: int = self.config["scheduler"]["num_epochs"] * self.steps_per_epoch
        return min(steps, self.config["train"]["max_steps"] or steps)

    def _batches(self, first: int, last: int) -> Iterator[tuple[int, loader.Batch]]:
        """The batches of this rank from step `first` to `last`, epoch by epoch."""
        options, seed = self.config["train"]["loader"], self.config["system"]["seed"]
        width = recipes.label_options(self.config).get("max_text_len", 24)

        def make(indices: NDArray[np.intp]) -> loader.Batch:
            return loader.train_batch(self.samples, indices, self.transform, width)

        while first < last:
            epoch, start = divmod(first, self.steps_per_epoch)
            order = loader.epoch_order(len(self.samples), seed=seed, epoch=epoch, shuffle=options["shuffle"])
            steps = loader.train_steps(
                order, batch_size=options["batch_size"], rank=self.world.rank, size=self.world.size
            )[start : start + last - first]
            for batch in loader.prefetch(list(steps), make, options["num_workers"]):
                yield first, batch
                first += 1

    def _resume(self) -> Progress:
        resume = self.config["system"]["resume"]
        if not resume:
            return Progress()
        path = self.folder / RESUME if resume is True else Path(resume)
        progress = checkpoint.load(path, _state(self.network, self.step))
        self.journal.say(f"resumed from {path} after step {progress.step}")
        return progress

    def _evaluates_after(self, step: int) -> bool:
        system = self.config["system"]
        return system["val_while_train"] and step % (system["val_interval"] * self.steps_per_epoch) == 0

    def _evaluate(self) -> WordCounts:
        """Evaluate, keep the best weights and what a resumed run needs."""
        started = time.perf_counter()
        counts, _ = self.evaluator(self.network)
        indicator = self.config["metric"]["main_indicator"]
        score = counts.accuracy if indicator == "acc" else counts.norm_edit_distance
        step = self.progress.step
        is_best = score > self.progress.best
        self.progress = Progress(step, max(score, self.progress.best))
        if self.world.is_main:
            if is_best:
                checkpoint.save(self.folder / BEST, self.network.get_parameters())
            checkpoint.save(self.folder / RESUME, _state(self.network, self.step), self.progress)
        self.journal.say(
            f"evaluation after step {step}: {int(counts.right)} of {int(counts.words)} words right "
            f"({counts.accuracy:.2%}){', the best so far' if is_best else ''}, {time.perf_counter() - started:.1f} s"
        )
        self.journal.metrics({
            "step": step, "word_accuracy": counts.accuracy, "norm_edit_distance": counts.norm_edit_distance,
        })
        return counts

    def _report(self, clock: Clock, rate: float, last: int) -> None:
        step = self.progress.step
        row = {
            "step": step,
            "epoch": (step - 1) // self.steps_per_epoch,
            "loss": float(np.mean(clock.losses)),
            "lr": rate,
            "samples_per_s": clock.samples / clock.total if clock.total else 0.0,
            "data_s": clock.data,
            "compute_s": clock.compute,
            "communication_s": clock.communication,
        }
        share = {part: getattr(clock, part) / (clock.total or 1.0) for part in ("data", "compute", "communication")}
        self.journal.say(
            f"step {step}/{last} epoch {row['epoch']} loss {row['loss']:.4f} lr {rate:.2e} "
            f"{row['samples_per_s']:.0f} samples/s, "
            + " ".join(f"{part} {value:.0%}" for part, value in share.items())
        )
        self.journal.metrics(row)

    def _note_bad(self, batch: loader.Batch) -> None:
        for sample, reason in batch.bad:
            if str(sample.path) not in self.bad:
                self.bad.add(str(sample.path))
                self.journal.warn(f"{sample.path} is left out: {reason}")

    def _assert_finite(self, result: StepResult, batch: loader.Batch, step: int) -> None:
        if result.finite:
            return
        names = ", ".join(str(sample.path) for sample in batch.samples[:8])
        raise TrainingError(
            f"the gradient of step {step + 1} is not finite (loss of this rank {result.loss}, norm {result.norm}); "
            f"the weights were not touched. Samples of this rank: {names}",
            hint="lower scheduler.lr, set train.clip_grad: True, look at the samples",
        )

    def _assert_moved(self) -> bool:
        now = _flatten(self.network)
        if self.progress.step and not np.array_equal(now, self.initial):
            return True
        raise TrainingError(
            f"the weights have not moved after {self.progress.step} steps",
            hint="is the learning rate 0? is everything to train already trained (system.resume, num_epochs)?",
        )

    def _summarise(self, counts: WordCounts, clock: Clock, *, compile_s: float, changed: bool) -> dict[str, Any]:
        digests = self.world.gather(
            np.frombuffer(_digest(self.network), np.uint8).astype(np.float32)
        ).astype(np.uint8)
        equal = bool((digests == digests[0]).all())
        summary = {
            "world_size": self.world.size,
            "launcher": self.world.launcher,
            "device_target": self.world.device_target,
            "steps": self.progress.step,
            "samples_per_s": round(clock.samples / clock.total, 1) if clock.total else 0.0,
            "word_accuracy": counts.accuracy,
            "norm_edit_distance": counts.norm_edit_distance,
            "best": self.progress.best,
            "wall_s": round(time.perf_counter() - self.began, 2),
            "compile_s": round(compile_s, 2),
            "train_s": round(clock.total, 2),
            "data_s": round(clock.data, 2),
            "compute_s": round(clock.compute, 2),
            "communication_s": round(clock.communication, 2),
            "weights_changed": changed,
            "ranks_equal": equal,
            "parameters_sha256": bytes(digests[0]).hex(),
            "bad_samples": len(self.bad),
            "config_sha256": self.config.digest,
        }
        self.journal.write("summary.json", json.dumps(summary, indent=4) + "\n")
        if not equal:
            raise TrainingError("the ranks end with different parameters: the all-reduce did not do its work")
        self.journal.say(f"word accuracy {counts.accuracy:.2%}, {summary['samples_per_s']} samples/s, see {self.folder}")
        return summary


def _usable_samples(config: Config, journal: Journal) -> list[samples.Sample]:
    """The training samples whose label the network can learn; the others are counted and the first ones named."""
    rows = samples.read_label_file(config["train"]["dataset"])
    encode = transforms.encode_label(**recipes.label_options(config))
    usable, bad = [], []
    for row in rows:
        try:
            encode(row)
            usable.append(row)
        except samples.BadSample as error:
            bad.append(f"{row.path}: {error}")
    if bad:
        journal.warn(f"{len(bad)} of {len(rows)} labels are left out: {'; '.join(bad[:3])}")
    return usable


def _build(config: Config, world: World) -> tuple[nn.Cell, TrainStep]:
    recipe, charset = recipes.find(config), recipes.charset_of(config)
    network = recipe.network(config["model"])
    if config["model"]["pretrained"]:
        checkpoint.load(Path(config["model"]["pretrained"]), network.get_parameters())
    for parameter in network.get_parameters():  # ranks must not merely hope to start alike
        parameter.set_data(Tensor(world.broadcast(parameter.asnumpy())))
    if config["model"]["freeze_batch_norm"]:
        freeze_batch_norm(network)
    update = optimizer.build(config["optimizer"], network)
    clip = config["train"]["clip_norm"] if config["train"]["clip_grad"] else None
    return network, TrainStep(network, recipe.loss(charset), update, size=world.size, clip_norm=clip)


def _state(network: nn.Cell, step: TrainStep) -> list[Any]:
    """Everything a resumed run needs besides its position: weights, statistics, optimizer."""
    parameters = {p.name: p for cell in (network, step.update) for p in cell.get_parameters()}
    return list(parameters.values())


def _flatten(network: nn.Cell) -> NDArray[np.float32]:
    return np.concatenate([p.asnumpy().ravel() for p in network.trainable_params()])


def _digest(network: nn.Cell) -> bytes:
    """SHA-256 over all parameters, statistics of batch normalisation included, in the order of the network."""
    digest = hashlib.sha256()
    for parameter in network.get_parameters():
        digest.update(np.ascontiguousarray(parameter.asnumpy()).tobytes())
    return digest.digest()


def _count(clock: Clock, data_s: float, result: StepResult, samples_of_step: int) -> None:
    clock.data += data_s
    clock.compute += result.compute_s
    clock.communication += result.communication_s
    clock.samples += samples_of_step
