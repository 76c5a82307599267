"""A session with misbehaving servers, whose agents are small test programs."""

import sys
import time
import tracemalloc
from pathlib import Path

import pytest

from hccl_kit.selftest import session as module
from hccl_kit.selftest.agent import Order
from hccl_kit.selftest.measured import LostRank, Measured
from hccl_kit.selftest.protocol import MAX_LINE, Result
from hccl_kit.selftest.rank_states import RankStates
from hccl_kit.selftest.rounds import Card
from hccl_kit.selftest.run import QUICK, measure
from hccl_kit.selftest.session import Server, session
from hccl_kit.selftest.verdict import judge
from tests.waiting import PATIENCE

GOOD = """
import json, os, sys, threading, time
ranks = [int(word) for word in sys.argv[1].split(",")]
lock = threading.Lock()
def say(rank, **message):
    with lock:
        os.write(1, json.dumps({"rank": rank, **message}, ensure_ascii=False).encode() + b"\\n")
def live():
    while True:
        for rank in ranks:
            if rank not in silent:
                say(rank, event="alive")
        time.sleep(0.05)
silent = set()
order = json.loads(sys.stdin.readline())
threading.Thread(target=live, daemon=True).start()
"""
READY = 'for rank in ranks: say(rank, event="ready", skipped=["all_to_all"])\n'
RESULT = '{"timings": [], "values": [1, 2], "problem": ""}'
OBEY = f"""
for line in sys.stdin:
    command = json.loads(line)
    if command["do"] == "put":
        continue
    for rank in ranks:
        if rank in command["to"]:
            say(rank, event="result", step=command["step"], **{RESULT})
"""


def server(folder: Path, name: str, ranks: tuple[int, ...], program: str) -> Server:
    path = folder / f"{name}.py"
    path.write_text(program.replace("null", "None"))
    command = (sys.executable, str(path), ",".join(map(str, ranks)))
    return Server(name, command, ranks, Order("gloo", {}, []))


def played(
    servers: list[Server], *, shares_fate: bool = False, steps: int = 1
) -> tuple[RankStates, list[dict[int, Result]]]:
    with session(servers, shares_fate=shares_fate) as started:
        started.ready(PATIENCE)
        results = []
        for _ in range(steps):
            if not started.ranks.is_over:
                results.append(started.step({"do": "compute"}, started.ranks.available(), 1.0))
        return started.ranks, results


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SILENCE", 0.6)
    monkeypatch.setattr(module, "MARGIN", 0.5)


def test_collects_the_results_of_all_servers(tmp_path: Path) -> None:
    programs = [server(tmp_path, "a", (0, 1), GOOD + READY + OBEY), server(tmp_path, "b", (2,), GOOD + READY + OBEY)]
    ranks, (first, second) = played(programs, steps=2)
    assert first == second == {rank: Result((), (1.0, 2.0)) for rank in range(3)}
    assert ranks.lost == {}
    assert ranks.skipped == ("all_to_all",)


def losses(ranks: RankStates) -> list[tuple[int, str, str]]:
    return [(loss.rank, loss.how, loss.detail) for loss in ranks.losses()]


def test_a_missing_command_makes_a_server_unreachable(tmp_path: Path) -> None:
    missing = Server("b", ("/nowhere/ssh",), (1,), Order("gloo", {}, []))
    ranks, _ = played([server(tmp_path, "a", (0,), GOOD + READY + OBEY), missing])
    assert losses(ranks) == [(1, "unreachable", "/nowhere/ssh cannot be started: No such file or directory")]


def test_a_stopped_rank_is_lost_and_its_partner_is_not(tmp_path: Path) -> None:
    """Rank 0 waits for rank 1, and sends signs of life."""
    program = GOOD + READY + "for line in sys.stdin: silent.add(1)\n"
    ranks, (found,) = played([server(tmp_path, "a", (0, 1), program)])
    assert losses(ranks) == [(1, "stopped", "no sign of life for 0.6 s")]
    assert found == {0: Result(problem="no end after 1.5 s")}
    assert ranks.available() == []


@pytest.mark.parametrize("answer", ["", 'say(0, event="result", step=json.loads(line)["step"], timings=[])\n'])
@pytest.mark.parametrize("shares_fate", [False, True])
def test_without_results_ranks_are_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str, shares_fate: bool
) -> None:
    """A rank that is ready but gives no result or an invalid one is lost at the end of the test."""
    monkeypatch.setattr(module, "MARGIN", 0.3)
    program = GOOD + READY + f"for line in sys.stdin: {answer or 'pass'}\n"
    effort, nothing = QUICK._replace(timeout=0.3, start=5.0), Measured("gloo", (Card(0, "a", 0),))
    with session([server(tmp_path, "a", (0,), program)], shares_fate=shares_fate) as started:
        measured = measure(started, effort, nothing, baseline=None, slow=0.5, note=lambda _: None)
    why = "its result cannot be read; is another version of hccl-kit there?" if answer else "no end after 0.6 s"
    assert measured.lost == (LostRank(0, "no result", why),)
    (fault,) = judge(measured)
    assert fault.message == f"rank 0 (a, card 0) gave no result: {why}"


def test_ranks_that_start_one_after_the_other_have_enough_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a busy server: each takes less than the timeout, all together more. One without progress is lost."""
    monkeypatch.setattr(module, "SILENCE", 60.0)
    program = GOOD + "for rank in (0, 1, 2): time.sleep(3); say(rank, event='ready')\ninput()\n"
    with session([server(tmp_path, "a", (0, 1, 2, 3), program)], shares_fate=False) as started:
        started.ready(5.0)
    assert losses(started.ranks) == [(3, "not started", "its framework did not load within 5 s")]


def test_invalid_messages_are_ignored(tmp_path: Path) -> None:
    noise = r"""
for line in (b"hello", b"{}", b"[" * 9999): os.write(1, line + b"\n")
say(7, event="gone")
say(0, event="result", step=99)
say(0, event="put", key=3, value=[], to="x")
say(0, event="put", key="k", value="v", to=[0, 99, None, []])
"""
    ranks, (results,) = played([server(tmp_path, "a", (0,), GOOD + READY + noise + OBEY)])
    assert ranks.lost == {}
    assert results.keys() == {0}


def test_values_put_by_a_rank_reach_its_partners(tmp_path: Path) -> None:
    giver = GOOD + 'say(0, event="put", key="k", value="v", to=[0, 1])\n' + READY + OBEY
    taker = GOOD + 'line = json.loads(sys.stdin.readline())\nassert line["value"] == "v"\n' + READY + OBEY
    ranks, (found,) = played([server(tmp_path, "a", (0,), giver), server(tmp_path, "b", (1,), taker)])
    assert ranks.lost == {}
    assert found.keys() == {0, 1}


def test_a_value_that_is_put_before_its_reader_was_started_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    giver = GOOD + 'say(0, event="put", key="k", value="v", to=[1])\n' + READY + OBEY
    taker = GOOD + 'line = json.loads(sys.stdin.readline())\nassert line["value"] == "v"\n' + READY + OBEY
    start = module.Session.start

    def start_late(self: module.Session, server: Server) -> None:
        if server.id == "b":
            while 0 in self.ranks.unready():
                self.listen()
        start(self, server)

    monkeypatch.setattr(module.Session, "start", start_late)
    ranks, _ = played([server(tmp_path, "a", (0,), giver), server(tmp_path, "b", (1,), taker)])
    assert ranks.lost == {}


def test_an_agent_that_does_not_end_is_killed(tmp_path: Path) -> None:
    program = GOOD + READY + OBEY + "time.sleep(600)\n"
    began = time.monotonic()
    played([server(tmp_path, "a", (0,), program)])
    assert time.monotonic() - began < PATIENCE


def test_the_reason_may_come_after_warnings(tmp_path: Path) -> None:
    bad = """
import sys, time
for line in ("Warning: added to the list of known hosts", "b: Permission denied"):
    print(line, file=sys.stderr, flush=True)
    time.sleep(0.5)
sys.exit(255)
"""
    ranks, _ = played([server(tmp_path, "b", (0,), bad)])
    assert losses(ranks) == [(0, "unreachable", "b: Permission denied")]


def test_a_line_that_is_too_long_loses_the_server(tmp_path: Path) -> None:
    ranks, _ = played([server(tmp_path, "b", (0,), f"print('x' * {MAX_LINE + 1}, flush=True)\ninput()\ninput()\n")])
    assert losses(ranks) == [(0, "unreachable", f"it sent a line of more than {MAX_LINE} bytes")]


def test_a_leftover_child_of_a_server_does_not_delay_the_end(tmp_path: Path) -> None:
    """Such as the shared connection of ssh, which stays open and inherits its standard error."""
    left = 'import subprocess\nsubprocess.Popen(["sleep", "90"], stdin=-3, stdout=-3, start_new_session=True)\n'
    began = time.monotonic()
    ranks, _ = played([server(tmp_path, "b", (0,), left)])
    assert losses(ranks) == [(0, "unreachable", "exit code 0")]
    assert time.monotonic() - began < 60


def test_a_text_that_exceeds_the_line_limit_when_encoded_is_not_passed_on(tmp_path: Path) -> None:
    """No agent accepts a line of more than MAX_LINE bytes: the server of another rank would be lost."""
    giver = GOOD + "say(0, event='put', key='k', value='\u00e9' * 200_000, to=[1])\n" + READY + OBEY
    taker = GOOD + READY + OBEY.replace("command =", "assert len(line) <= 1 << 20\n    command =")
    ranks, _ = played([server(tmp_path, "a", (0,), giver), server(tmp_path, "b", (1,), taker)])
    assert losses(ranks) == []


def test_messages_for_a_server_that_does_not_read_take_bounded_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SILENCE", 60.0)
    flood = "for _ in range(150): say(0, event='put', key='k', value='v' * 200_000, to=[1])\n"
    servers = [
        server(tmp_path, "a", (0,), GOOD + flood + READY + OBEY),
        server(tmp_path, "b", (1,), GOOD + READY + "time.sleep(60)\n"),
    ]
    tracemalloc.start()
    try:
        with session(servers, shares_fate=False) as started:
            started.ready(60.0)
            assert tracemalloc.get_traced_memory()[0] < 16 << 20
    finally:
        tracemalloc.stop()


def test_an_error_during_the_start_leaves_no_process(tmp_path: Path) -> None:
    """Such as Ctrl-C; here the command of the second server has a character that no program can be given."""
    note = f"import os\nopen({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
    first = server(tmp_path, "a", (0,), note + GOOD + READY + OBEY)
    servers = [first, Server("b", ("\0",), (1,), Order("gloo", {}, []))]
    with pytest.raises(ValueError, match="null byte"), session(servers, shares_fate=False):
        pytest.fail("both have started")
    number = (tmp_path / "pid").read_text() if (tmp_path / "pid").exists() else "none"
    assert not Path(f"/proc/{number}").exists()
