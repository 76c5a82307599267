"""Evaluations during a training: when they are due, which weights are kept after them, and when they end it."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import replace

from hccl_kit.ocr.checkpoints import checkpoint, dictionary_mark, retention
from hccl_kit.ocr.checkpoints.checkpoint import Progress
from hccl_kit.ocr.config import BEST
from hccl_kit.ocr.metrics.counts import Counts
from hccl_kit.ocr.run import curves
from hccl_kit.ocr.train import parameters
from hccl_kit.ocr.train.job import Job
from hccl_kit.ocr.train.weights_in_use import swapped

WORST = 20
"""Lines or pages in the picture of those that are furthest from their truth."""


def is_due(job: Job, step: int) -> bool:
    """After every `val_interval` epochs from `val_start_epoch` on, unless `val_while_train` is off."""
    system = job.config["system"]
    epoch, rest = divmod(step, job.feed.steps_per_epoch)
    due: bool = system["val_while_train"] and epoch >= system["val_start_epoch"]
    return due and not rest and epoch % system["val_interval"] == 0


def was_interrupted(job: Job) -> bool:
    """Whether the evaluation is missing that was due after the checkpoint from which the run resumes.

    Every rank must call it.
    """
    step = job.start.step
    return bool(step and is_due(job, step) and job.world.share("again" * (step not in job.log.evaluations())))


def is_patience_over(job: Job, step: int) -> bool:
    """Whether the last `train.patience` evaluations up to this step brought no gain.

    They are those in metrics.jsonl, so a resumed run goes on counting. Every rank must call it.
    """
    patience = job.config["train"]["patience"]
    if not patience or not is_due(job, step):
        return False
    rows = job.log.evaluations().values() if job.world.is_main else ()
    count = without_gain(rows, job.config["metric"]["main_indicator"])
    return bool(job.world.share("over" * (count >= patience)))


def without_gain(rows: Iterable[Mapping[str, float]], indicator: str) -> int:
    """The evaluations since the last gain: a score above the last gain's by more than the standard error of that one.

    `rows` are in order, and the first one is a gain. `indicator` is `metric.main_indicator`; only `acc` has an error.
    """
    count, bar = 0, -1.0
    for row in rows:
        score = next(row[name] for name in curves.names_of(indicator) if name in row)
        count += 1
        if score > bar:
            count, bar = 0, score + (row["standard_error"] if indicator == "acc" else 0.0)
    return count


def evaluate(job: Job, progress: Progress, *, draw_worst: bool = False) -> tuple[Counts, Progress]:
    """Evaluate the weights in use, and keep them; rank 0 writes the files.

    `draw_worst` also draws the samples that are furthest from their truth.
    """
    assert job.evaluator is not None
    started = time.perf_counter()
    with job.step.weights_in_use():
        counts, distances = job.evaluator(job.network, alive=lambda: job.heartbeat.beat(progress.step))
        guard = {} if progress.step else {"guard": {name: of.row() for name, of in _guard(job, 0).items()}}
        score = counts.score(job.config["metric"]["main_indicator"])
        is_best = score > progress.best
        progress = replace(progress, best=max(score, progress.best))
        _keep(job, progress, score, is_best=is_best)
        if draw_worst:
            picture = job.evaluator.picture_of_worst(job.network, distances, WORST)
            if picture is not None:
                job.log.picture(f"worst_{job.task.units}", picture, progress.step)
    if is_best:
        job.save(progress)
    job.log.say(
        f"evaluation after step {progress.step}: {counts}{', the best so far' if is_best else ''}, "
        f"{time.perf_counter() - started:.1f} s"
    )
    job.log.evaluation({"step": progress.step, **counts.row(), **guard})
    return counts, progress


def of_best(job: Job) -> tuple[Counts | None, dict[str, Counts]]:
    """The scores of best.ckpt on the data that chose nothing, None if the run has no such data; and on `eval.guard`.

    Every rank must call it. The network keeps its weights.
    """
    if job.test is None and not job.guard:
        return None, {}
    weights = tuple(job.network.get_parameters())
    with swapped(weights, [weight.asnumpy() for weight in weights]):
        if job.world.is_main:
            checkpoint.load(job.folder / BEST, weights)
        parameters.broadcast(weights, job.world)
        scores = job.test(job.network, alive=lambda: job.heartbeat.beat(job.last_step)) if job.test else None
        return (scores.counts if scores else None), _guard(job, job.last_step)


def _guard(job: Job, step: int) -> dict[str, Counts]:
    """The scores of the weights in use on each set of `eval.guard`."""
    return {
        name: evaluator(job.network, alive=lambda: job.heartbeat.beat(step)).counts
        for name, evaluator in job.guard.items()
    }


def keep_last(job: Job, progress: Progress) -> None:
    """Keep the last weights as the best: those of a run without an evaluation."""
    with job.step.weights_in_use():
        _keep(job, progress, 0.0, is_best=True)


def _keep(job: Job, progress: Progress, score: float, *, is_best: bool) -> None:
    if not job.world.is_main:
        return
    system = job.config["system"]
    weights = [*job.network.get_parameters(), *dictionary_mark.mark(job.task.dictionary, job.task.characters)]
    if is_best:
        checkpoint.save(job.folder / BEST, weights)
    policy, most = system["ckpt_save_policy"], system["ckpt_max_keep"]
    retention.save(job.folder, weights, (progress.step, score), policy=policy, most=most)
