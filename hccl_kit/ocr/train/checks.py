"""What ends a training that cannot succeed: values that are not finite, weights that do not move, ranks that drift."""

from __future__ import annotations

from hccl_kit.base.errors import EXIT_FINDINGS
from hccl_kit.base.wording import listed
from hccl_kit.ocr.checkpoints.checkpoint import Progress
from hccl_kit.ocr.data.loader import Batch
from hccl_kit.ocr.train import parameters
from hccl_kit.ocr.train.job import Job
from hccl_kit.ocr.train.step import StepResult
from hccl_kit.runtime.consistency import JointError

WATCH = 10
"""Steps after which the weights must have moved."""
SHOWN = 5
"""Parameters that a message names."""


class TrainingError(JointError):
    """The training failed, on all ranks: exit code 1."""

    exit_code = EXIT_FINDINGS


def assert_finite(job: Job, result: StepResult, batch: Batch, step: int) -> None:
    """Raises TrainingError if loss or gradient are not finite; logs an overflow that only skips the update."""
    if result.skipped:
        lowered = f", scale lowered to {result.next_scale:g}" if result.next_scale < result.scale else ""
        job.log.say(f"step {step + 1} overflowed with loss scale {result.scale:g}: update skipped{lowered}")
    if result.finite or result.skipped:
        return
    names = ", ".join(str(sample.path) for sample in batch.samples[:8])
    raise TrainingError(
        f"step {step + 1} is not finite (loss {result.loss}, gradient norm {result.norm}); "
        f"the weights were not touched. Samples of this rank: {names}",
        hint="lower scheduler.lr, set train.clip_grad: True, check the samples",
    )


def assert_moving(job: Job, progress: Progress) -> None:
    """Raises TrainingError if no weight has moved since the start; warns about single ones.

    A resumed run is not checked: it may have only the last steps left, whose learning rate is close to 0.
    """
    if job.start.step:
        return
    still = parameters.still(job.initial, job.network)
    weights = [name for name, value in job.initial.items() if value.ndim > 1]
    if still == weights:
        raise TrainingError(
            f"the weights have not moved until step {progress.step}", hint="scheduler.lr may be too small"
        )
    if still:
        job.log.warn(f"{len(still)} of {len(weights)} weights have not moved, such as {still[0]}")


def warn_about_idle_parameters(job: Job) -> None:
    """Name the parameters that no step has given a gradient."""
    idle = job.step.without_gradient
    if idle:
        job.log.warn(f"{len(idle)} parameters got no gradient in {WATCH} steps: {listed(idle, SHOWN)}")
