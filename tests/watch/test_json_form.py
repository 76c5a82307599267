"""A job as JSON: it matches its schema and round-trips; servers may send anything."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from hccl_kit.base.schemas import load
from hccl_kit.runtime.pulse import Span, thinned
from hccl_kit.watch.json_form import POINTS, as_json, job_in
from hccl_kit.watch.look import Folder
from hccl_kit.watch.view import WatchedJob, WatchedRank
from hccl_kit.watch.view import job as job_of
from tests.watch.made import facts, run


def job(folder: Path) -> WatchedJob:
    run(folder, 20, slow=3)
    facts(folder, 4, ranks=20, ended="ValueError", loss="nan")
    return Folder(folder).look()


def test_a_job_matches_the_schema_and_round_trips(tmp_path: Path) -> None:
    seen = job(tmp_path)
    text = as_json(seen)
    assert "\n" not in text
    Draft202012Validator(load("watch")).validate(json.loads(text))
    again = job_in(text)
    assert as_json(again) == text
    assert again.state == "failed"
    assert json.loads(text)["straggler"]["rank"] == 3


def test_curves_are_thinned_but_cover_the_whole_run(tmp_path: Path) -> None:
    (point,) = {point for point in Folder(run(tmp_path, 1)).look().ranks[0].curve if point.span.step == 40}
    for size in (0, 1, POINTS, POINTS + 1, 128):
        found = thinned((point,) * size, POINTS)
        assert len(found) <= POINTS
        assert sum(one.span.steps for one in found) == 10 * size


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is not a report of hccl-kit watch"),
        ("bash: hccl-kit: command not found", "is not a report of hccl-kit watch"),
        ("{}", "is not a report of hccl-kit watch"),
        ("[" * 100_000, "is not a report of hccl-kit watch"),
        ('{"ranks": ' + "[" * 100_000, "is not a report of hccl-kit watch"),
        ('{"ranks": [], "version": 2}', "has version 2, accepted: 1"),
        ('{"ranks": [], "version": 1}', "does not match the schema: : 'run' is a required property"),
        ('{"ranks": NaN, "version": 1}', "is not a report of hccl-kit watch"),
        ('{"ranks": [], "version": "' + "x" * 1000 + '"}', "has version xxxxxxxxxxxxxxxxxxxx, accepted: 1"),
    ],
)
def test_invalid_responses_are_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        job_in(text)


ANSWER = as_json(job_of("run", 1.0, [WatchedRank(0, "running", step=4, windows=(Span(4, 2, 1.0, 0.1, 0.8, 0.1),))]))
anything = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=9) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=50)
@given(st.data())
def test_a_damaged_answer_is_refused_or_gives_a_valid_job(data: st.DataObject) -> None:
    document = json.loads(ANSWER)
    part = data.draw(st.sampled_from([document, *document["ranks"]]))
    part[data.draw(st.sampled_from(sorted(part)))] = data.draw(anything)
    try:
        seen = job_in(json.dumps(document))
    except ValueError:
        return
    Draft202012Validator(load("watch")).validate(json.loads(as_json(seen)))
    assert all(
        rank.host.isprintable() and rank.why.isprintable() and rank.last_line.isprintable() for rank in seen.ranks
    )


def test_a_server_cannot_exhaust_the_memory(tmp_path: Path) -> None:
    row = json.loads(as_json(Folder(run(tmp_path, 1)).look()))
    one = row["ranks"][0]
    row["ranks"] = [{**one, "rank": n, "curve": one["curve"] * 100, "windows": one["windows"] * 100} for n in range(60)]
    row["notes"] = ["x" * 1000] * 1000
    seen = job_in(json.dumps(row))
    assert sum(bool(rank.curve) for rank in seen.ranks) <= 32
    assert max(len(rank.windows) for rank in seen.ranks) <= 8
    assert len("".join(seen.notes)) <= 8 * 300
