"""What a finished training leaves: summary.json, the curves, and a warning about exports that are out of date."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from math import hypot
from shlex import quote
from typing import Any

import numpy as np

from hccl_kit.ocr.checkpoints import fetch
from hccl_kit.ocr.checkpoints.checkpoint import Progress
from hccl_kit.ocr.checkpoints.previous_run import METRICS, SUMMARY, stale_exports
from hccl_kit.ocr.config import ARCHIVE, BEST
from hccl_kit.ocr.metrics.counts import Counts, standard_error, table
from hccl_kit.ocr.run import curves
from hccl_kit.ocr.run.consistency import gather_digests
from hccl_kit.ocr.train import parameters
from hccl_kit.ocr.train.checks import TrainingError
from hccl_kit.ocr.train.job import Job
from hccl_kit.ocr.train.timing import Meter

CURVES = "curves.png"


def write(
    job: Job,
    progress: Progress,
    counts: Counts | None,
    meter: Meter,
    *,
    test: Counts | None = None,
    guard: Mapping[str, Counts],
    straggler: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Write summary.json and curves.png (rank 0), and return the former's values.

    `counts` are those of the last evaluation; `test` those of best.ckpt on data that chose nothing, and `guard` on the
    sets of `eval.guard`; `straggler` is the rank that held up the others, if one did. Raises TrainingError if the ranks
    end with different parameters.
    """
    still = parameters.still(job.initial, job.network)
    digests = gather_digests(job.world, parameters.digest(job.network))
    bad = job.world.all_reduce(np.array([len(job.feed.bad)], np.float32))
    measured = meter.rest if meter.rest.samples else meter.first  # a run of one step has nothing else
    moved = any(value.ndim > 1 and name not in still for name, value in job.initial.items())
    summary = {
        "world_size": job.world.size,
        "launcher": job.world.launcher,
        "device_target": job.world.device_target,
        "steps": progress.step,
        "ended_early": progress.step < job.last_step,  # by train.patience
        **(counts.row() if counts else {}),
        "best": progress.best,
        "wall_s": round(time.perf_counter() - job.began, 2),
        "compile_s": round(meter.first.total_s, 2),
        "train_s": round(meter.rest.total_s, 2),
        **measured.row(),
        "straggler": straggler,
        "weights_changed": moved if measured.samples else None,
        "ranks_equal": len(set(digests)) == 1,
        "parameters_sha256": digests,
        "bad_samples": int(bad[0]) + job.left_out,
        "config_sha256": job.config.digest,
    }
    indicator = job.config["metric"]["main_indicator"] if "metric" in job.config else None
    compared = {}
    if counts and indicator and job.world.is_main:
        compared = comparison(job.log.evaluations(), counts.row(), indicator)
    if compared and indicator:
        said = gain(compared, indicator)
        summary |= {"before": compared["before"], "kept": compared["best"], "gain": said}
    if test:
        summary |= {"scores_are_of": "the validation part of train.dataset", "test": {**test.row(), "weights": BEST}}
    guarded = _guarded(job, guard)
    summary |= {"guard": guarded} if guarded else {}
    if started := fetch.wanted(job.config["model"]):
        summary["started_from"] = started
    job.log.write(SUMMARY, json.dumps(summary, indent=4) + "\n")
    if job.world.is_main:
        curves.draw(job.folder / METRICS, job.folder / CURVES, indicator=indicator)
    if not summary["ranks_equal"]:
        raise TrainingError("the ranks end with different parameters; summary.json has the digest of each")
    for path in stale_exports(job.folder) if job.world.is_main else ():
        job.log.warn(f"{path} is older than {BEST}: export it again")
    if compared and indicator:
        floats = {
            name: {key: cell for key, cell in row.items() if isinstance(cell, float)} for name, row in compared.items()
        }
        for line in (*table(floats), said):
            job.log.say(line)
    for name, rows in guarded.items():
        job.log.say(forgetting(name, rows))
    if test:
        job.log.say(f"eval.dataset, read once, with {BEST}: {test}")
    on = "validation: " if test else ""
    job.log.say(f"{on}{counts or 'not evaluated'}; {measured}; see {job.folder}")
    if counts and job.config["model"]["type"] != "cls":
        job.log.say(f"next: hccl-kit predict -c {quote(str(job.folder / ARCHIVE))} --images FOLDER")
    return summary


def comparison(
    evaluations: Mapping[int, Mapping[str, float]], last: Mapping[str, float], indicator: str
) -> dict[str, Mapping[str, float]]:
    """The scores before the training, those of the weights in best.ckpt, and the last ones.

    `evaluations` are those of the whole run by their step, in order, and `indicator` is `metric.main_indicator`. Empty
    if there is none before the first step.
    """
    if 0 not in evaluations:
        return {}
    name = next(name for name in curves.names_of(indicator) if name in last)
    best = max(evaluations.values(), key=lambda row: row[name])  # the first of equal ones, as best.ckpt
    return {"before": evaluations[0], "best": best, "last": last}


def _guarded(job: Job, guard: Mapping[str, Counts]) -> dict[str, dict[str, Any]]:
    """The scores on each set of `eval.guard`: those of best.ckpt, and those of the start if they were taken."""
    before = job.log.evaluations().get(0, {}).get("guard", {}) if job.world.is_main else {}
    return {
        name: {**({"before": before[name]} if name in before else {}), "best": counts.row()}
        for name, counts in guard.items()
    }


def forgetting(name: str, rows: Mapping[str, Mapping[str, float]]) -> str:
    """How well a set of `eval.guard` is read `before` the training, if that was evaluated, and with the `best` weights.

    Of lines `exact` counts: it sees case and spaces also where `metric` ignores them.
    """
    best = rows["best"]
    before = rows.get("before", best)
    unit, count = next(iter(best.items()))
    score = next(score for score in ("exact", "accuracy", "f-score") if score in best)
    change = f"{before[score]:.2%} -> {best[score]:.2%}" if "before" in rows else f"{best[score]:.2%}"
    error = hypot(*(standard_error(row[score], count) for row in (before, best)))
    lost = score != "f-score" and before[score] - best[score] > 2 * error
    said = f"guard {name}: {score} {change} of {count} {unit}"
    return f"{said}; {BEST} has forgotten some of them" if lost else said


def gain(columns: Mapping[str, Mapping[str, float]], indicator: str) -> str:
    """Whether the best weights are better than those of the start, as far as so many samples can tell.

    `columns` are those of `comparison`. The two scores are of the same samples, so their difference is a little more
    certain than the sum of their standard errors says.
    """
    name = next(name for name in curves.names_of(indicator) if name in columns["last"])
    before, best = (columns[column][name] for column in ("before", "best"))
    if best <= before:
        return f"not better than the start: {BEST} holds the weights of the start"
    better = f"{name} is {best - before:.4f} better than at the start"
    errors = (columns[column].get("standard_error", 0.0) for column in ("before", "best"))
    error = hypot(*errors) if indicator == "acc" else 0.0  # no other score has one
    if best - before < 2 * error:
        return f"{better}, less than twice its standard error of {error:.4f}: this may be chance"
    return better
