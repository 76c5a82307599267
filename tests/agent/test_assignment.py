"""What the agent is told, and what its ranks get of it."""

import json
from typing import Any

import pytest

from hccl_kit.agent.assignment import AssignedRank, Assignment, Default, Limits, read


def assignment(**values: Any) -> Assignment:
    ranks = (AssignedRank(0, 4, {"RANK": "0"}), AssignedRank(1, 5, {"RANK": "1"}))
    given = {"environ": {"ID": "run"}, "mark": "ID=run", "folder": "/logs/run", "host": "n1", "log_dir_name": "LOGS"}
    return Assignment(command=("true",), ranks=ranks, **{**given, **values})


def variables(told: Assignment, environ: dict[str, str], attempt: int = 0) -> dict[str, str]:
    whole = told.here(environ)
    return whole.variables(whole.ranks[1], attempt, 20001)


def test_it_is_read_as_it_was_written() -> None:
    defaults = (Default("PLOGS", "plog/", ("OLD",), in_logs=True), Default("SIZE", "5"))
    told = assignment(
        defaults=defaults, files={"t.json": "{}\n"}, unset=("X",), port=4711, cwd="/w", limits=Limits(heartbeat=1.5)
    )
    assert read(told.to_json()) == told


def test_what_is_no_assignment_is_refused() -> None:
    good = json.loads(assignment().to_json())
    wrong: tuple[dict[str, object], ...] = ({"version": 1}, {"ranks": [{}]}, {"defaults": 1}, {"more": 1})
    for changed in wrong:
        with pytest.raises(ValueError, match="not an assignment"):
            read(json.dumps({**good, **changed}))
    for text in ("", "{}", "[]", "null", '{"version": 2}', '{"version": 2, "ranks": [7]}', "\0"):
        with pytest.raises(ValueError, match=r"not an assignment|Expecting value"):
            read(text)


def test_ranks_of_another_server_get_its_environment_without_what_other_launchers_left() -> None:
    told = assignment(inherit=True, unset=("LEFT",))
    found = variables(told, {"HOME": "/home/u", "LEFT": "9", "ID": "old", "RANK": "7"})
    assert (found["HOME"], found["ID"], found["RANK"]) == ("/home/u", "run", "1")
    assert "LEFT" not in found
    assert "HOME" not in variables(assignment(), {"HOME": "/home/u"})


def test_a_default_gives_way_to_what_is_set_there_under_any_of_its_names() -> None:
    told = assignment(
        inherit=True, defaults=(Default("SIZE", "5", ("OLD_SIZE",)), Default("PLOGS", "plog/a/", (), True))
    )
    assert variables(told, {})["SIZE"] == "5"
    assert "SIZE" not in variables(told, {"OLD_SIZE": "3"})
    assert variables(told, {}, attempt=2)["PLOGS"] == "/logs/run/restart_2/plog/a"
    assert variables(told, {"PLOGS": "/mine"})["PLOGS"] == "/mine"


def test_threads_are_the_share_of_a_rank_unless_they_are_set() -> None:
    told = assignment(inherit=True, threads_name="OMP_NUM_THREADS")
    assert int(variables(told, {})["OMP_NUM_THREADS"]) >= 1
    assert told.here({}).threads_name == "OMP_NUM_THREADS"
    assert variables(told, {"OMP_NUM_THREADS": "7"})["OMP_NUM_THREADS"] == "7"
    assert told.here({"OMP_NUM_THREADS": "7"}).threads_name == ""
