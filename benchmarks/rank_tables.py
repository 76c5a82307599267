"""Time to write, check and merge rank tables in one process, against simple baselines.

python -m benchmarks.rank_tables [--largest 1000000]

Each ratio compares two things that are timed in turn. `table_programs.py` times whole programs.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from jsonschema import Draft202012Validator

from benchmarks.row import Row
from benchmarks.table_shapes import CARDS, host
from hccl_kit.base import schemas
from hccl_kit.check.engine import check_text
from hccl_kit.cli import YOUNG_OBJECTS
from hccl_kit.table.formats import write
from hccl_kit.table.formats.server_list import to_value
from hccl_kit.table.model import Device, RankTable, Server
from hccl_kit.table.operations.generate import generate
from hccl_kit.table.operations.merge import merge

Pair = tuple[float, float]
SIZES = (8, 1024, 65536, 1_000_000)


def table_of(devices: int) -> RankTable:
    """A valid table of servers with eight cards each."""
    servers = tuple(
        Server(
            id=host(number),
            devices=tuple(Device(card, host(number, 100 + card), number * CARDS + card) for card in range(CARDS)),
            extra={"host_nic_ip": "reserve"},
        )
        for number in range(devices // CARDS)
    )
    return RankTable("1.0", "completed", servers, declared_servers=len(servers))


def seconds(work: Callable[[], Any]) -> float:
    """The seconds of one run in this process, after garbage collection."""
    gc.collect()
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def in_turn(rounds: int, *runs: Callable[[], float]) -> list[float]:
    """The median seconds of each run; every round has one of each."""
    return [statistics.median(column) for column in zip(*([run() for run in runs] for _ in range(rounds)), strict=True)]


def writing(size: int) -> Pair:
    """The peer and ours: generate and write against json.dumps(indent=4) of the finished value."""
    value = to_value(table_of(size))
    assert write(table_of(size)) == json.dumps(value, indent=4, ensure_ascii=False)
    dumps, ours = in_turn(
        rounds(size),
        partial(seconds, lambda: json.dumps(value, indent=4)),
        partial(seconds, lambda: write(table_of(size))),
    )
    return dumps, ours


def judging(size: int) -> Pair:
    """The peer and ours: check against jsonschema alone, which checks structure only."""
    text = write(table_of(size))
    validator = Draft202012Validator(schemas.load("rank_table_1.0"))
    checked, ours = in_turn(
        rounds(size),
        partial(seconds, lambda: validator.is_valid(json.loads(text))),
        partial(seconds, lambda: check_text(text, "t.json")),
    )
    return checked, ours


def merging(size: int) -> Pair:
    """The peer and ours: one text per server merged, against a script that checks nothing."""
    parts = [
        write(generate(host(number), [(card, host(number, 100 + card)) for card in range(CARDS)]))
        for number in range(size // CARDS)
    ]
    script, ours = in_turn(
        rounds(size), partial(seconds, lambda: known_way(parts)), partial(seconds, lambda: our_way(parts))
    )
    return script, ours


def known_way(parts: list[str]) -> str:
    """Load each, append its servers, number the ranks as they come, dump."""
    servers = [server for text in parts for server in json.loads(text)["server_list"]]
    for rank, device in enumerate(device for server in servers for device in server["device"]):
        device["rank_id"] = str(rank)
    whole = {"version": "1.0", "server_count": str(len(servers)), "server_list": servers, "status": "completed"}
    return json.dumps(whole, indent=4)


def our_way(parts: list[str]) -> str:
    """Check each, merge, write."""
    tables = [report.table for report in (check_text(text, "t.json") for text in parts)]
    return write(merge([table for table in tables if table]))


def rows(*, full: bool) -> Iterator[Row]:
    """For `python -m benchmarks`; table_programs has the rest."""
    size = 65536 if full else 8192
    gc.set_threshold(YOUNG_OBJECTS)
    for title, measured, peer in (
        (f"generating and writing {size:,} devices", writing, "`json.dumps(indent=4)` of the value"),
        (f"checking {size:,} devices in one process", judging, "jsonschema"),
    ):
        theirs, ours = measured(size)
        yield Row(title, peer, "ms", ours * 1e3, theirs * 1e3)


def rounds(size: int) -> int:
    """Number of repetitions."""
    return 15 if size < 65536 else 3


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--largest", type=int, default=SIZES[-1], metavar="N", help="leave larger tables out")
    sizes = tuple(size for size in SIZES if size <= parser.parse_args().largest)
    gc.set_threshold(YOUNG_OBJECTS)  # as the programs do
    for title, row, most in (
        ("generate and write against json.dumps(indent=4)", writing, SIZES[-1]),
        ("check (of a text) against json.loads and jsonschema", judging, 65536),  # a million takes jsonschema a minute
        ("check, merge and write one table per server against load, append, dump", merging, 65536),
    ):
        print(f"{title}\n  devices     theirs        ours    ratio")
        for size in sizes:
            if size <= most:
                theirs, ours = row(size)
                print(f"{size:>9}{theirs * 1e3:>10.1f} ms{ours * 1e3:>10.1f} ms{ours / theirs:>8.3f}x")


if __name__ == "__main__":
    main()
