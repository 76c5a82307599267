"""Outputs of hccl_test, as published by users."""

import time
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.selftest.hccl_test import read_rows

OUTPUT = """\
the minbytes is 8192, maxbytes is 2147483648, iters is 20, warmup_iters is 5
data_size(Bytes): | aveg_time(us): | alg_bandwidth(GB/s): | check_result:
8192              | 62.10          | 0.13192              | success
1048576           | 100.00         | 10.48576             | NULL
33554432          | 1345.60        | 48.59                | success
67108864          | 2691.00        | 24.94                | failed
"""


def test_reads_rows_with_their_line_numbers() -> None:
    rows = read_rows(OUTPUT, "run.log")
    assert [(row.line, row.size, row.check) for row in rows] == [
        (3, 8192, "success"),
        (4, 1048576, "NULL"),
        (5, 33554432, "success"),
        (6, 67108864, "failed"),
    ]
    assert rows[1].seconds == pytest.approx(1e-4)


def test_a_time_of_zero_is_a_contradiction() -> None:
    (row,) = read_rows("64 | 0.00 | 1.0 | success", "run.log")
    assert row.contradiction == "line 1: 64 bytes in 0 us is not possible"


@pytest.mark.parametrize(
    "line",
    [
        "[1,0]<stdout>:1048576 | 100.00 | 10.48576 | success",
        "1048576 100.00 10.48576 success",
        "|1048576|100.00|10.48576|success|",
        "1048576\t100.00\t10.48576\tsuccess\r",
    ],
)
def test_other_formats_of_a_row_are_read(line: str) -> None:
    (row,) = read_rows(line, "run.log")
    assert (row.size, row.contradiction) == (1048576, None)


def test_an_output_without_rows_is_an_error() -> None:
    with pytest.raises(KitError, match=r"run\.log has no row of hccl_test"):
        read_rows("hello\n", "run.log")


def test_too_many_rows_are_an_error() -> None:
    with pytest.raises(KitError, match="more than 10000 rows"):
        read_rows("1 1 1 success\n" * 10_001, "run.log")


@given(st.integers(1, 1 << 36), st.floats(1, 1e8))
def test_rows_printed_by_the_program_are_never_contradictory(size: int, microseconds: float) -> None:
    time_text, bandwidth = f"{microseconds:.2f}", size / microseconds / 1e3
    (row,) = read_rows(f"{size} | {time_text} | {bandwidth:.5f} | success", "run.log")
    assert row.contradiction is None


@given(st.text(alphabet="0123456789 .|\tsuceNUL:\n", max_size=3000))
def test_hostile_text_is_parsed_quickly(text: str) -> None:
    began = time.process_time()
    with suppress(KitError):
        read_rows(text, "run.log")
    assert time.process_time() - began < 1
