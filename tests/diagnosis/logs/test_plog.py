"""A log line is split into its records."""

# ruff: noqa: E501 - log lines are not wrapped

from __future__ import annotations

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hccl_kit.diagnosis.logs.plog import MAX_TEXT, Record, records
from hccl_kit.diagnosis.moments import time_of
from tests.diagnosis.logs.lines import TIME

HEADERS = (
    "[ERROR] HCCL(4711,python3):2025-06-15-15:06:40.500.000 [a.cc:3] [99]{}",
    "[ERROR]HCCL(4711,python3):2025-06-15-15:06:40.500.000[a.cc:3][99]{}",
    "[ERROR] HCCL(4711, python3):2025-06-15-15:06:40.500.000 [a.cc:3][99]{}",
    "[ERROR] HCCL(4711,python3) :2025-06-15 15:06:40.500.000 [a.cc:3] [99]{}",
    "[ERROR] HCCL(4711,):2025-06-15-15:06:40.500.000 [a.cc:3] [99]{}",
    "[ERROR] HCCL(4711,ker_DP1_EP1_TP1):2025-06-15-15:06:40.500.000 [a.cc:3] [4711][99]{}",
    "[TRACE] HCCL(4711,python3):2025-06-15-15:06:40.500.000 [status:init] [a.cc:3] [99]{}",
    "[ERROR] RUNTIME(4711,python3):2025-06-15-15:06:40.500.000 [a.cc:3] 99 {}",
    "[INFO] HCCP(4711,hccp_service.bin):2025-06-15-15:06:40.500.000 [a.c:3] tid:99,{}",
    "[INFO] ATRACE(4711,python3):2025-06-15-15:06:40.500.000 [a.c:3](tid:99) {}",
    "[ERROR] ME(4711:2811,MainProcess):2025-06-15-15:06:40.500.000 [a.py:3] [99]{}",
    "[rank1]: [ERROR] HCCL(4711,python3):2025-06-15-15:06:40.500.000 [a.cc:3] [99]{}",
    "worker-1: [ERROR] HCCL(4711,python3):2025-06-15-15:06:40.500.000 [a.cc:3] [99]{}",
    "(TaskRunner pid=5) [ERROR] HCCL(4711,python3):2025-06-15-15:06:40.500.000 [a.cc:3] [99]{}",
    "debug/plog/plog-1_2.log:14:[ERROR] HCCL(4711,python3):2025-06-15-15:06:40.500.000 [a.cc:3] [99]{}",
)
TEXTS = st.from_regex(r"[A-Z][a-z ,=\[\]()0-9]{0,60}", fullmatch=True)


@pytest.mark.parametrize("header", HEADERS)
@given(text=TEXTS)
def test_every_form_of_header_is_parsed(header: str, text: str) -> None:
    (record,) = records(header.format(text))
    assert (record.pid, record.thread, record.time, record.text.strip()) == (4711, "99", TIME, text.strip())
    assert f"[{record.level}]" in header
    assert f"{record.module}(" in header


@given(st.lists(st.tuples(st.sampled_from(HEADERS[:6]), TEXTS), min_size=1, max_size=4))
def test_records_on_one_line_are_separated(parts: list[tuple[str, str]]) -> None:
    found = list(records("".join(header.format(text) for header, text in parts)))
    assert [record.text.strip() for record in found] == [text.strip() for _, text in parts]


def test_log_tags_of_2022_stay_in_the_text() -> None:
    line = "[TRACE] HCCL(5,python):2022-12-01-03:02:29.001.645 [status:init] [hcom.cc:1][hccl-5-0-16-hccl_world_group][3]done"
    (record,) = records(line)
    assert (record.thread, record.text) == (None, "[hccl-5-0-16-hccl_world_group][3]done")


@pytest.mark.parametrize(
    ("line", "pid", "text"),
    [
        ("EI0006: 2025-06-15-15:06:40.500.000 Late", None, "EI0006: 2025"),
        ("EI0006: [PID: 8] 2025-06-15-15:06:40.500.000 Late", 8, "EI0006: [PID"),
        ("[PID: 8] 2025-06-15-15:06:40.500.000 Get_Socket(EI0006): Late", 8, "Get_Socket(EI0006)"),
        ("[PID: 8] 2025-06-15-15:06:40.500.000 Execution Error CQE(EI0013): Late", 8, "Execution Error CQE(EI0013)"),
        (
            "(Worker_TP1 pid=8) ERROR 06-15 15:06:40 [a.py:1] EI0006: 2025-06-15-15:06:40.500.000 Late",
            8,
            "EI0006: 2025",
        ),
    ],
)
def test_parses_messages_of_terminal_output(line: str, pid: int | None, text: str) -> None:
    (record,) = records(line)
    assert (record.pid, record.time, record.is_screen, record.level) == (pid, TIME, True, "ERROR")
    assert record.text.lstrip().startswith(text)


MINDIE = "[2025-06-15 15:06:40.500] [4711] [281472] [llm] [ERROR] [model_runner.py-77] : [MIE04E130301] EI0006 it is"


@pytest.mark.parametrize("line", [MINDIE, MINDIE.replace("40.500]", "40,500+08:00]"), MINDIE.replace(" : ", ": ")])
def test_parses_the_header_of_mindie(line: str) -> None:
    (record,) = records(line)
    assert record == Record("ERROR", "MINDIE", 4711, TIME, "281472", "[MIE04E130301] EI0006 it is")


def test_the_plain_header_of_mindie_names_no_process() -> None:
    (record,) = records("[2025-03-04 05:06:07,089] : [CRITICAL] [MIE05E000001] the worker is gone")
    assert (record.level, record.pid, record.text) == ("ERROR", None, "[MIE05E000001] the worker is gone")


def test_a_message_of_hccl_within_a_line_of_mindie_keeps_its_own_header() -> None:
    """The process id is that of the message, which HCCL printed."""
    line = (
        "[2025-06-15 15:06:40.500] [4711] [281472] [llm] [ERROR] [a.py-7] : EI0006: [PID: 99] 2025-03-04-05:06:06.1 x"
    )
    (record,) = records(line.replace("06.1 ", "06.100.000 "))
    assert (record.pid, record.is_screen) == (99, True)


def test_parses_the_header_of_torch() -> None:
    (record,) = records("[rank7]: [ERROR] 2025-06-15-15:06:40 (PID:9, Device:1, RankID:-1) ERR02200 DIST call failed")
    assert (record.module, record.pid, record.origin.rank, record.time) == ("TORCH", 9, 7, TIME - 0.5)


def test_a_record_has_the_rank_and_the_host_that_its_prefix_names() -> None:
    for text in ("[ERROR] HCCL(1,a):2025-06-15-15:06:40.500.000 [a.cc:1] [1]x", "x"):
        (record,) = records(f"[n1:3] {text}")
        assert (record.origin.rank, record.origin.server) == (3, "n1")


def test_the_colors_of_a_terminal_are_left_out() -> None:
    (record,) = records("\x1b[31mValueError: no\x1b[0m")
    assert record.text == "ValueError: no"
    (record,) = records("\x1b[1;31m[ERROR]\x1b[0m HCCL(1,a):2025-06-15-15:06:40.500.000 [a.cc:1] [1]x\x1b[0m")
    assert (record.level, record.text) == ("ERROR", "x")


@pytest.mark.parametrize(
    "date", ["2025-13-01-00:00:00", "2025-02-30-00:00:00", "2025-06-15-25:00:00", "1969-01-01-00:00:00"]
)
def test_an_invalid_date_gives_no_time(date: str) -> None:
    assert time_of(date, "000", "000") is None
    (record,) = records(f"[ERROR] HCCL(1,a):{date}.000.000 [a.cc:1] [1]x")
    assert (record.time, record.text) == (None, "x")


def test_the_incomplete_end_of_a_truncated_line_is_dropped() -> None:
    (record,) = records("[ERROR] HCCL(1,a):2025-06-15-15:06:40.500.000 [a.cc:1] [1]rank[3], port[166", is_whole=False)
    assert (record.text, record.is_whole) == ("rank[3]", False)


@given(st.text(max_size=300), st.booleans())
@example("[ERROR] HCCL(" + "9" * 5000 + ",x):", True)
@example("[ERROR] HCCL(4294967295123,x):2025", True)
def test_any_text_is_parsed(line: str, is_whole: bool) -> None:
    found = list(records(line, is_whole=is_whole))
    assert found
    assert all(isinstance(record, Record) and len(record.text) <= MAX_TEXT for record in found)


def test_a_line_of_a_megabyte_is_parsed_quickly() -> None:
    for unit in ("a", "[", "[ERROR] ", "(", "x[1],", " ", "[rank1]: "):
        for _ in records((unit * 1_000_000)[:1_000_000]):
            pass


def test_patterns_match_only_ascii_digits() -> None:
    (record,) = records("[ERROR] HCCL(٣٤,a):2025-06-15-15:06:40.500.000 x")
    assert record.level is None
    assert not re.search("[0-9]", "٣٤")
