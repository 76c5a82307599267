"""Two ranks that start from the published weights of PP-OCRv6: equal under script and mpirun, and after a resume."""

from collections.abc import Callable
from importlib.util import find_spec

import pytest

from tests.distributed.jobs import Command, Job
from tests.distributed.test_ways import MPIRUN, needs_mpirun
from tests.places import ROOT

pytestmark = [
    pytest.mark.train,
    pytest.mark.long,
    needs_mpirun,
    pytest.mark.skipif(not find_spec("rapidocr"), reason="needs the extra weights, which brings rapidocr"),
]

CONFIG = ROOT / "configs" / "rec" / "ppocr" / "v6_small_captcha5.yaml"
STEPS = ("train.loader.batch_size=4", "train.max_steps=4")
PATIENCE = 900.0
"""Seconds; every rank compiles the training step and the evaluation."""


def finish(job: Job, command: Command) -> str:
    """The output of a job, which must succeed."""
    done = job.finish(job.start(command), seconds=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr
    assert job.summary["ranks_equal"] is True
    return done.stdout


def test_two_ranks_from_weights_end_equal_however_they_are_started(new_job: Callable[[], Job]) -> None:
    script, mpirun, resumed = new_job(), new_job(), new_job()
    finish(script, script.script(*STEPS, config=CONFIG))
    assert script.summary["started_from"] == {"model.pretrained": "rapidocr:rec"}
    finish(mpirun, [*MPIRUN, "-n", "2", *mpirun.train(*STEPS, config=CONFIG)])
    finish(resumed, resumed.script(*STEPS, "train.max_steps=2", config=CONFIG))
    (resumed.folder / "ascend2p.sh").unlink()
    assert "resumed from" in finish(resumed, resumed.script(*STEPS, "system.resume=True", config=CONFIG))
    for job in (mpirun, resumed):
        assert job.summary["steps"] == 4
        assert job.summary["parameters_sha256"] == script.summary["parameters_sha256"]
