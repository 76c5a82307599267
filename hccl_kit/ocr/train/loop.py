"""The loop that trains every model of this package, on one rank or many."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from hccl_kit.base.errors import under_way
from hccl_kit.base.wording import counted
from hccl_kit.ocr import interrupt, on_cpu
from hccl_kit.ocr.checkpoints.checkpoint import Progress
from hccl_kit.ocr.checkpoints.previous_run import SUMMARY
from hccl_kit.ocr.config import ARCHIVE, TEXTS, Config
from hccl_kit.ocr.data.loader import Batch
from hccl_kit.ocr.run.log import RunLog
from hccl_kit.ocr.train import checks, evaluation, schedule, summary
from hccl_kit.ocr.train.job import Job, build_job
from hccl_kit.ocr.train.timing import Meter, timed
from hccl_kit.runtime.join import World


def train(config: Config, world: World, log: RunLog) -> dict[str, Any]:
    """Train, evaluate and write every file of the run; returns what summary.json holds.

    Raises TrainingError if loss or gradient are not finite, the weights do not move or the ranks drift apart. Every
    failure from the first step on has exit code 1, a full disk too: started again, the run resumes from its last
    checkpoint.
    """
    return run(build_job(config, world, log))


def run(job: Job) -> dict[str, Any]:
    """All steps of a job from `job.start` on, its evaluations and its summary; see `train` for what it raises.

    Before the first batch is there, nothing is written: its images may be missing.
    """
    batches = job.feed.batches(job.start.step, job.last_step, seed=job.config["system"]["seed"])
    with job.world.recorder.waiting("data"):
        first = list(islice(batches, 1))
    job.open()
    with under_way():
        return _run(job, chain(first, batches))


def _run(job: Job, batches: Iterator[tuple[int, Batch]]) -> dict[str, Any]:
    scheduler, system = job.config["scheduler"], job.config["system"]
    last, meter = job.last_step, Meter()
    stragglers = checks.StragglerCheck(job.world, job.log.warn, log_interval=system["log_interval"])
    progress = _begin(job)
    for step, batch, data_s in timed(batches, job.world.recorder):
        if evaluation.is_patience_over(job, step):
            patience = counted(job.config["train"]["patience"], "evaluation")
            job.log.say(f"{patience} without a gain beyond the standard error: ended after step {step} of {last}")
            break
        if step == 0 and job.world.is_main:
            job.log.picture("first_batch", job.task.picture(batch), step)

        rate = schedule.learning_rate(step, scheduler, job.feed.steps_per_epoch)
        result = job.step(batch, rate, seed=(system["seed"], step, job.world.rank))
        checks.assert_finite(job, result, batch, step)
        meter.add(result, data_s, samples=job.feed.joint_batch)
        progress = replace(progress, step=step + 1)
        parts = (data_s, result.compute_s, result.communication_s)
        job.heartbeat.beat(progress.step, loss=result.loss, parts=parts)
        stragglers.add(progress.step, data_s, result)

        if progress.step - job.start.step == checks.WATCH:
            checks.assert_moving(job, progress)
            checks.warn_about_idle_parameters(job)
        if progress.step % system["log_interval"] == 0 or progress.step == last:
            _report(job, progress.step, rate, meter)
            meter.begin_interval()
        if progress.step < last:
            _end_if_asked(job, progress)
            progress = _save_and_evaluate(job, progress)

    if job.start.step < last:
        job.save(progress)
        checks.assert_moving(job, progress)
    counts = None
    if job.evaluator is None:
        evaluation.keep_last(job, progress)
    else:
        counts, progress = evaluation.evaluate(job, progress, draw_worst=True)
    test, guard = evaluation.of_best(job)
    return summary.write(job, progress, counts, meter, test=test, guard=guard, straggler=stragglers.verdict)


def _begin(job: Job) -> Progress:
    """What comes before the first step of this process, with the evaluation that is due there."""
    progress, system = job.start, job.config["system"]
    _announce(job)
    cells = {**job.step.parts, "compute": job.step.compute, "evaluate": job.network}
    on_cpu.keep_graphs(cells, job.config, job.world, network=job.network, say=job.log.say)
    starts = not progress.step and system["val_before_train"] and job.evaluator is not None
    if progress.step < job.last_step and (starts or evaluation.was_interrupted(job)):
        _, progress = evaluation.evaluate(job, progress)
    return progress


def _announce(job: Job) -> None:
    """Archive the configuration, and log what the run is going to do."""
    first, last = job.start.step, job.last_step
    job.log.write(ARCHIVE, job.config.to_yaml())
    if job.task.texts:
        job.log.write(TEXTS, "".join(f"{text}\n" for text in job.task.texts))
    job.log.say(
        f"{counted(len(job.feed.samples), 'sample')}, {job.feed.steps_per_epoch} steps an epoch, {last} steps in all, "
        f"{sum(value.size for value in job.initial.values())} parameters to train"
    )
    if first < last:
        job.log.remove(SUMMARY)
    else:
        job.log.warn(
            f"no step is left: {first} are done, and scheduler.num_epochs and train.max_steps ask for {last}; "
            "the run is evaluated and summarised"
        )


def _end_if_asked(job: Job, progress: Progress) -> None:
    """Save a checkpoint and end, if rank 0 was asked to. The other ranks wait in their next step, and end with it."""
    if job.world.is_main and interrupt.save_is_wanted():
        job.save(progress)
        raise interrupt.SavedError(f"saved after step {progress.step} by SIGUSR2; continue with -o system.resume=auto")


def _save_and_evaluate(job: Job, progress: Progress) -> Progress:
    """Between two steps: a checkpoint and an evaluation, if they are due. The latter may fail, so it comes last."""
    is_due = evaluation.is_due(job, progress.step)
    if is_due or progress.step % job.config["train"]["resume_interval_steps"] == 0:
        job.save(progress)
    return evaluation.evaluate(job, progress)[1] if is_due else progress


def _report(job: Job, step: int, rate: float, meter: Meter) -> None:
    """Write a line to the log and one to metrics.jsonl about the steps since the last report."""
    epoch = (step - 1) // job.feed.steps_per_epoch
    text = f"step {step}/{job.last_step} epoch {epoch} loss {meter.loss:.4f} lr {rate:.2e} {meter.interval}"
    job.log.say(", ".join(filter(None, [text, meter.interval.left(job.last_step - step)])))
    job.log.metrics({"step": step, "epoch": epoch, "loss": meter.loss, "lr": rate, **meter.interval.row()})
