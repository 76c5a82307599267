"""Dumps of torch's flight recorder, as pickles and as JSON: valid ones are parsed, others refused."""

import gzip
import json
import os
import pickle
import re
import struct
import subprocess
import sys
import tarfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis.facts import Dumped, Traced
from hccl_kit.diagnosis.job import diagnose
from hccl_kit.diagnosis.logs import reader_process, torch_dump
from hccl_kit.diagnosis.logs.reading import read
from hccl_kit.diagnosis.report.text import as_text


def entry(number: int, operator: str = "nccl:all_reduce", **changes: Any) -> dict[str, Any]:
    """An entry in the format of torch 2.13, without the fields that are not read."""
    return {
        "record_id": number,
        "process_group": ("0", "default_pg"),
        "collective_seq_id": number,
        "profiling_name": operator,
        "time_created_ns": (1_700_000_000 + number) * 10**9,
        "input_sizes": [[64, 2]],
        "input_dtypes": ["Float"],
        "state": "completed",
        "time_discovered_completed_ns": 1,
        "retired": True,
        "is_p2p": False,
        **changes,
    }


OPEN = {"state": "scheduled", "time_discovered_completed_ns": None, "retired": False}


def dump(*entries: Any, ranks: str = "[0, 1]") -> dict[str, Any]:
    config = {"0": {"name": "0", "desc": "default_pg", "ranks": ranks}}
    return {"version": "2.10", "pg_config": config, "pg_status": {}, "entries": list(entries)}


def facts(data: bytes, name: str = "hccl_trace_rank_1") -> list[Any]:
    noted, why = torch_dump.read(name, iter([data]))
    assert why is None
    return [one.fact for one in noted]


def refused(data: bytes, name: str = "hccl_trace_rank_1") -> str:
    noted, why = torch_dump.read(name, iter([data]))
    assert [one.fact for one in noted] == (
        [Dumped(1, None, is_cut=True)] if b"entries" in data and "rank" in name else []
    )
    assert why is not None
    return why


DUMP = dump(entry(1), entry(2, "nccl:all_gather", **OPEN))


@pytest.mark.parametrize(
    "data", [pickle.dumps(DUMP, 2), pickle.dumps(DUMP), json.dumps(DUMP).encode()], ids=["pickle 2", "pickle 4", "JSON"]
)
def test_reads_the_collectives_of_a_dump(data: bytes) -> None:
    assert facts(data) == [
        Dumped(1, 2),
        Traced(1, "nccl:0 (default_pg)", (0, 1), 1, "all_reduce", "Float [64, 2]", left=True),
        Traced(1, "nccl:0 (default_pg)", (0, 1), 2, "all_gather", None, left=False),
    ]


@pytest.mark.parametrize(
    ("backend", "change", "left"),
    [
        ("gloo", {**OPEN, "retired": True}, True),  # gloo never says "completed"
        ("gloo", OPEN, False),
        ("hccl", {**OPEN, "retired": True}, False),  # it has timed out
        ("hccl", {**OPEN, "state": "started"}, False),
        ("hccl", {"time_discovered_completed_ns": None}, True),
    ],
)
def test_completion_is_read_according_to_the_backend(backend: str, change: dict[str, Any], left: bool) -> None:
    found = facts(pickle.dumps(dump(entry(1, f"{backend}:all_reduce", **change))))[1]
    assert found.left is left


def test_keeps_only_the_last_entries_and_no_sends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_dump, "MAX_KEPT", 3)
    entries = [*map(entry, range(9)), entry(9, is_p2p=True)]
    assert [one.sequence for one in facts(pickle.dumps(dump(*entries)))[1:]] == [7, 8]


def test_the_rank_is_the_number_at_the_end_of_the_name() -> None:
    for name in ("comm_lib_trace_rank_13", "torch_trace_rank_13.json", "rank_13", "2024-run_13.pickle"):
        assert facts(pickle.dumps(DUMP), name)[0] == Dumped(13, 2)
    assert "does not end with a rank" in refused(pickle.dumps(DUMP), "dump")
    assert "does not end with a rank" in refused(pickle.dumps(DUMP), "dump_1234567890")


ODD: tuple[Any, ...] = (
    entry(1, process_group=None),
    entry(1, process_group=["x"]),
    entry(1, collective_seq_id="1"),
    entry(1, profiling_name=7),
    entry(1, input_sizes="ab", input_dtypes=None),
    entry(1, input_sizes=[["a", True, -1]], input_dtypes=[3]),
    entry(1, time_created_ns=-1),
    "text",
    None,
)


@pytest.mark.parametrize("odd", ODD, ids=range(len(ODD)))
def test_values_of_wrong_types_are_ignored(odd: Any) -> None:
    assert facts(pickle.dumps({**dump(), "entries": [odd, entry(2)]}))[-1].sequence == 2


@pytest.mark.parametrize("config", [None, [], {"0": None}, {"0": {"ranks": [0, 1]}}, {"0": {"ranks": ""}}], ids=str)
def test_reads_groups_without_ranks(config: Any) -> None:
    found = facts(pickle.dumps({**DUMP, "pg_config": config}))
    assert found[0] == Dumped(1, None)
    assert found[1].members is None


def test_invalid_dumps_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no entries" in refused(pickle.dumps([1]))
    assert "no entries" in refused(pickle.dumps({"entries": 3, "version": "2"}))
    assert "no entries" in refused(b'{"entries": []}')
    assert "not valid JSON" in refused(json.dumps(DUMP).encode()[:-9])
    assert "not valid JSON" in refused(b'{"a":' * 100_000)
    assert "ends in the middle" in refused(pickle.dumps(DUMP)[:-9])
    monkeypatch.setattr(torch_dump, "MAX_BYTES", 1 << 20)
    assert "more than 1 MiB" in refused(b"\x80\x02" + bytes(2 << 20))


def stuck_job(folder: Path) -> None:
    """Three ranks, of which the last has not entered collective 2706."""
    folder.mkdir()
    for rank in range(3):
        entries = [entry(number, "hccl:all_reduce") for number in range(2700, 2706)]
        entries += [entry(2706, "hccl:all_reduce", **OPEN)] if rank < 2 else []
        data = pickle.dumps(dump(*entries, ranks="[0, 1, 2]"), 2)
        (folder / f"hccl_trace_rank_{rank}").write_bytes(data)


def test_reads_a_folder_of_dumps(tmp_path: Path) -> None:
    stuck_job(tmp_path / "run")
    answer = as_text(diagnose([tmp_path / "run"]))
    assert answer.startswith("first fault:  rank 2: never entered all_reduce 2706, where the others wait: "), answer


def test_reads_an_archive_of_compressed_dumps(tmp_path: Path) -> None:
    stuck_job(tmp_path / "run")
    with tarfile.open(tmp_path / "run.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "run", "run")
    assert "rank 2: never entered all_reduce 2706" in as_text(diagnose([tmp_path / "run.tar.gz"]))
    one = tmp_path / "run" / "hccl_trace_rank_0"
    one.write_bytes(gzip.compress(one.read_bytes()))
    assert "rank 2: never entered all_reduce 2706" in as_text(diagnose([tmp_path / "run"]))


def test_one_bad_dump_is_noted_and_the_rest_is_read(tmp_path: Path) -> None:
    stuck_job(tmp_path / "run")
    bad = tmp_path / "run" / "hccl_trace_rank_1"
    bad.write_bytes(bad.read_bytes()[:-200])
    (tmp_path / "run" / "hccl_trace_rank_7").write_bytes(b"\x80\x02}X\x07\x00\x00\x00versioncos\nsystem\n.")
    found = read([tmp_path / "run"])
    assert [note.removeprefix(f"{tmp_path}/run/") for note in found.notes] == [
        "hccl_trace_rank_1 is not a readable dump of torch's flight recorder: it ends in the middle",
        "hccl_trace_rank_7 is not a readable dump of torch's flight recorder: it has more than plain values: os.system",
    ]
    assert "rank 2: never entered all_reduce 2706" in as_text(diagnose([tmp_path / "run"]))


def test_a_folder_of_invalid_dumps_only_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "hccl_trace_rank_0").write_bytes(b"\x80\x02")
    with pytest.raises(KitError, match=r"no log was found: .*it ends in the middle"):
        diagnose([tmp_path])


class Touch:
    """A pickle that makes a folder when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


def test_no_code_is_executed(tmp_path: Path) -> None:
    for protocol in range(2, 6):
        data = pickle.dumps({"entries": [Touch(tmp_path / "made")]}, protocol)
        assert refused(data).startswith("it has more than plain values: ")
        assert not (tmp_path / "made").exists()
    pickle.loads(data)  # the standard unpickler executes it
    assert (tmp_path / "made").exists()


HOSTILE = {
    "a function": (pickle.dumps({"version": os.system}), "more than plain values: posix.system"),
    "an object": (pickle.dumps({"version": Path("x")}), "more than plain values: pathlib."),
    "a registered code": (b"\x80\x02\x82\x01.", "damaged"),
    "an index that asks for memory": (b"\x80\x02]r\xff\xff\xff\xff.", "no entries|too much memory"),
    "a text longer than the file": (b"\x80\x02X\xff\xff\xff\xffab.", "ends in the middle"),
    "a text longer than any memory": (b"\x80\x04\x8d" + struct.pack("<Q", 1 << 62) + b"ab.", "ends in the|memory"),
    "an empty stack": (b"\x80\x02.", "damaged"),
    "a value without a mark": (b"\x80\x02u.", "damaged"),
    "a memo that is not there": (b"\x80\x02h\x07.", "damaged"),
    "an item for a list": (b"\x80\x02]NNs.", "damaged"),
    "a list as a key": (b"\x80\x02}]Ns.", "damaged"),
    "a list in itself": (b"\x80\x02]q\x00h\x00a.", "no entries"),
    "lists in lists": (b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".", "no entries"),
    "many lists": (b"\x80\x02(" + b"]" * 5_000_000 + b"l.", "too much memory|takes more than 6 s"),
    "keys that nest": (b"\x80\x02}" + b")" + b"\x85" * 1_000_000 + b"Ns.", "ends with SIGSEGV"),
    "keys with equal hashes": (
        b"\x80\x02}("
        + b"".join(b"\x8a\x0c" + (((1 << 61) - 1) * n).to_bytes(12, "little") + b"N" for n in range(100_000))
        + b"u.",
        "takes more than 6 s",
    ),
}
"""Dumps, and why they cannot be read."""


def test_a_hostile_dump_is_a_note_and_the_others_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What ends the reader is named too; nothing is said of its rank but that it left a dump."""
    monkeypatch.setattr(reader_process, "LIMITS", reader_process.LIMITS._replace(memory=1 << 28, seconds=6))
    for rank, (data, _) in enumerate(HOSTILE.values(), 10):
        (tmp_path / f"hccl_trace_rank_{rank}").write_bytes(data)
    for rank in (1, 99):
        (tmp_path / f"hccl_trace_rank_{rank}").write_bytes(pickle.dumps(DUMP))
    evidence = read([tmp_path])
    notes = dict(zip(HOSTILE, evidence.notes, strict=True))
    assert [(name, note) for name, note in notes.items() if not re.search(HOSTILE[name][1], note)] == []
    assert [file.file for file in evidence.files] == [f"{tmp_path}/hccl_trace_rank_{rank}" for rank in (1, 99)]
    cut = {event.fact.rank for event in evidence.events if isinstance(event.fact, Dumped) and event.fact.is_cut}
    assert cut == {rank for rank, note in enumerate(notes.values(), 10) if "cannot be read" in note}


def test_a_dump_in_an_archive_that_ends_the_reader_costs_no_other(tmp_path: Path) -> None:
    stuck_job(tmp_path / "run")
    (tmp_path / "run/hccl_trace_rank_1").write_bytes(HOSTILE["keys that nest"][0])
    with tarfile.open(tmp_path / "run.tar", "w") as archive:
        archive.add(tmp_path / "run", "run")
    evidence = read([tmp_path / "run.tar"])
    bad = f"{tmp_path}/run.tar:run/hccl_trace_rank_1"
    assert evidence.notes == (f"{bad} cannot be read: reading it ends with SIGSEGV",)
    assert {event.fact.rank: event.fact.is_cut for event in evidence.events if isinstance(event.fact, Dumped)} == {
        0: False,
        1: True,
        2: False,
    }


@given(st.integers(2, 5), st.data())
def test_damaged_dumps_are_refused_or_give_facts(protocol: int, data: st.DataObject) -> None:
    whole = pickle.dumps(DUMP, protocol)
    at = data.draw(st.integers(2, len(whole) - 1))
    torch_dump.read("rank_1", [whole[:at] + data.draw(st.binary(min_size=1, max_size=3)) + whole[at + 1 :]])
    assert torch_dump.read("rank_1", [whole[:at]])[1]


def with_bombs(value: Any, how: str) -> bytes:
    """The pickle of a value, in which the text BOMB is a list that must not become a text.

    It has 2 to the power of 60 items, since each pair has the one below twice; or it is nested deeper than any stack.
    """
    bomb = b"]" * 100_000 + b"a" * 99_999
    if how == "shared":
        places = [struct.pack("<I", (1 << 20) + level) for level in range(61)]
        bomb = b"]r" + places[0]
        for below, place in pairwise(places):
            bomb += b"j" + below + b"\x86r" + place
    return pickle.dumps(value, 2).replace(b"X\x04\x00\x00\x00BOMB", bomb)


@pytest.mark.parametrize("how", ["shared", "nested"])
def test_a_dump_with_endless_lists_takes_neither_memory_nor_time(tmp_path: Path, how: str) -> None:
    """In every field, one after the other; the program has 1 GiB of memory."""
    fields = [*entry(1), "pg_id"]
    dumps = [dump(entry(1), {**entry(2), name: "BOMB"}, {**entry(3), **OPEN}) for name in fields]
    dumps += [{**DUMP, name: "BOMB"} for name in ("pg_config", "pg_status", "version")]
    dumps += [{**DUMP, "pg_status": {"0": {"last_enqueued_collective": "BOMB"}}}, dump(ranks="BOMB")]
    dumps += [dump(entry(1, process_group=("BOMB", "BOMB"), input_sizes=[["BOMB"]], input_dtypes=["BOMB"]))]
    for rank, one in enumerate(dumps):
        (tmp_path / f"hccl_trace_rank_{rank}").write_bytes(with_bombs(one, how))
    limited = f"ulimit -v {1 << 20}; exec {sys.executable} -m hccl_kit diagnose {tmp_path} --format json"
    done = subprocess.run(["bash", "-c", limited], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode in (0, 1), done.stderr) == (True, "")
    assert {one["rank"] for one in json.loads(done.stdout)["silent"]}.isdisjoint(range(len(dumps)))


def test_a_shared_group_text_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_dump, "MAX_RANKS", 1000)
    groups = {str(number): {"ranks": "1," * 100} for number in range(10)}
    data = json.dumps({"version": "2.10", "pg_config": groups, "entries": [entry(1, process_group=("9", ""))]})
    noted, why = torch_dump.read("trace_rank_1.json", [data.encode()])
    assert why is None
    (fact,) = (one.fact for one in noted if isinstance(one.fact, Traced))
    assert fact.members is None


def damaged(dump: dict[str, Any]) -> bool:
    (dumped,) = (fact for fact in facts(json.dumps(dump).encode()) if isinstance(fact, Dumped))
    return dumped.is_cut


def test_a_dump_of_which_collectives_are_missing_is_cut() -> None:
    whole = [entry(number, pg_id=0) for number in range(1, 6)]
    whole_status = {"0": {"last_enqueued_collective": 5, "last_completed_collective": 4}}
    assert not damaged({**dump(*whole), "pg_status": whole_status})
    assert not damaged(dump())
    assert damaged(dump(*whole[:2], *whole[3:]))
    assert damaged({**dump(*whole[:-1]), "pg_status": whole_status})
    assert damaged({**dump(), "pg_status": whole_status})
    assert damaged({"version": "2.4", "pg_status": whole_status})  # torch can leave out the entries
    for bad in ({"profiling_name": None}, {"collective_seq_id": "5"}, {"collective_seq_id": 1.5}):
        assert damaged(dump(*whole[:-1], {**whole[-1], **bad}))
    assert damaged(dump(*whole[:-1], "entry"))
    assert not damaged(dump(*whole[:-1], {**whole[-1], "is_p2p": True, "collective_seq_id": None}))
    odd: Any
    for odd in ({}, [], {"0": 3}, {"0": {"last_enqueued_collective": -1}}, {"9": {"last_enqueued_collective": 7}}):
        assert not damaged({**dump(*whole), "pg_status": odd})


@pytest.mark.parametrize("lacking", ["input_dtypes", "input_sizes"])
def test_a_shape_is_known_as_a_whole_or_not_at_all(lacking: str) -> None:
    value: Any
    for value in (None, [], "x", 3, [None], [["a"]], ["Float", "Float"]):
        (_, traced) = facts(json.dumps(dump({**entry(1), lacking: value})).encode())
        assert isinstance(traced, Traced)
        assert traced.shape is None
