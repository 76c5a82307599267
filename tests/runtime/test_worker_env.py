"""The contract between launcher and worker: written environments round-trip, and contradictions are refused."""

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.runtime.worker_env import MISLEADING, NAMES, WorkerEnv

ENV = WorkerEnv(
    rank=2,
    size=4,
    local_rank=1,
    local_size=2,
    device=1,
    master_addr="127.0.0.1",
    master_port=29500,
    table="/t.json",
    node=1,
    run="today",
    visible="4,6",
)
_texts = st.none() | st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)


@st.composite
def envs(draw: st.DrawFn) -> WorkerEnv:
    """Any valid environment of a launcher."""
    size = draw(st.integers(1, 65536))
    local_size = draw(st.integers(1, size))
    return WorkerEnv(
        rank=draw(st.integers(0, size - 1)),
        size=size,
        local_rank=draw(st.integers(0, local_size - 1)),
        local_size=local_size,
        device=draw(st.integers(0, 10**9 - 1)),
        master_addr=draw(_texts),
        master_port=draw(st.none() | st.integers(1, 65535)),
        table=draw(_texts),
        node=draw(st.none() | st.integers(0, 65535)),
        run=draw(_texts),
        visible=draw(_texts),
    )


_contract = {name for names in NAMES.values() for name in names}
_others = st.dictionaries(st.text().filter(lambda name: name not in _contract), st.text())


@given(envs(), _others)
def test_to_environ_and_from_environ_round_trip(env: WorkerEnv, others: dict[str, str]) -> None:
    assert WorkerEnv.from_environ({**others, **env.to_environ()}) == env


def test_every_field_has_names_and_no_name_belongs_to_two_fields() -> None:
    names = [name for names in NAMES.values() for name in names]
    assert set(NAMES) == {field.name for field in dataclasses.fields(WorkerEnv)}
    assert len(set(names)) == len(names)
    assert not set(names) & set(MISLEADING)


def test_both_frameworks_get_the_same_values() -> None:
    assert ENV.to_environ() == {
        "RANK_ID": "2",
        "RANK": "2",
        "RANK_SIZE": "4",
        "WORLD_SIZE": "4",
        "LOCAL_RANK": "1",
        "DEVICE_NUM": "2",
        "LOCAL_WORLD_SIZE": "2",
        "DEVICE_ID": "1",
        "RANK_TABLE_FILE": "/t.json",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29500",
        "GROUP_RANK": "1",
        "NODE_RANK": "1",
        "TORCHELASTIC_RUN_ID": "today",
        "ASCEND_RT_VISIBLE_DEVICES": "4,6",
    }


@pytest.mark.parametrize(("first", "second"), [pair for pair in NAMES.values() if len(pair) == 2], ids=str)
def test_two_names_of_one_field_must_agree(first: str, second: str) -> None:
    environ = ENV.to_environ() | {second: "3"}  # which is not its value
    with pytest.raises(KitError, match=f"contradicts itself: {first}=[0-9] but {second}=3"):
        WorkerEnv.from_environ(environ)


@pytest.mark.parametrize("key", ["rank", "size", "local_rank", "local_size", "device"])
def test_a_missing_field_is_named(key: str) -> None:
    environ = {name: value for name, value in ENV.to_environ().items() if name not in NAMES[key]}
    with pytest.raises(KitError, match=f"{' or '.join(NAMES[key])} is not set"):
        WorkerEnv.from_environ(environ)


@pytest.mark.parametrize("key", ["rank", "size", "local_rank", "local_size", "device"])
def test_one_name_of_a_field_is_enough(key: str) -> None:
    environ = ENV.to_environ()
    for name in NAMES[key][1:]:
        del environ[name]
    assert WorkerEnv.from_environ(environ) == ENV


@pytest.mark.parametrize("value", ["x", "-1", "1.0", " 1", "1 ", "+1", "1_0", "\u0661", "\u00b2", "9" * 11, "0x1"])
@pytest.mark.parametrize("key", ["rank", "device", "master_port"])
def test_a_value_that_is_not_a_number_is_shown(key: str, value: str) -> None:
    environ = ENV.to_environ() | dict.fromkeys(NAMES[key], value)
    with pytest.raises(KitError) as caught:
        WorkerEnv.from_environ(environ)
    assert caught.value.message == f"{'/'.join(NAMES[key])}={value!r} is not an integer >= 0"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rank": 4}, "rank 4 is outside 0..3"),
        ({"rank": -1}, "rank -1 is outside 0..3"),
        ({"size": 0}, "rank 2 is outside 0..-1"),
        ({"local_rank": 2}, "local rank 2 of 2 does not fit a job of 4"),
        ({"local_rank": -1}, "local rank -1 of 2"),
        ({"local_size": 5}, "local rank 1 of 5 does not fit a job of 4"),
        ({"device": -1}, "device -1 is negative"),
        ({"master_port": 0}, "master port 0 is outside 1..65535"),
        ({"master_port": 65536}, "master port 65536 is outside 1..65535"),
    ],
    ids=str,
)
def test_impossible_values_are_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(KitError, match=message):
        dataclasses.replace(ENV, **change)
