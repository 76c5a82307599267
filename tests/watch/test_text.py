"""A job as text: an aligned and collapsed table, and a single line."""

from pathlib import Path

import pytest

from hccl_kit.base.terminal import text_width
from hccl_kit.base.translation import speak
from hccl_kit.runtime.pulse import Span
from hccl_kit.watch.look import Folder
from hccl_kit.watch.text import HEADINGS, as_line, as_text, cells
from hccl_kit.watch.view import WatchedRank, job
from tests.watch.made import facts, run


def test_the_table_is_aligned(tmp_path: Path) -> None:
    run(tmp_path, 3)
    facts(tmp_path, 1, ranks=3, step=123456, loss="nan")
    lines = as_text(Folder(tmp_path).look()).splitlines()
    table = lines[lines.index("") + 1 :][:4]
    assert table[0].split("  ")[0] == "rank"
    ends = {text_width(line) for line in table}
    assert len(ends) == 1
    assert table[2].split() == [
        *("1", "n0", "1", "running", "123456", *table[2].split()[5:7], "4.55", "0.11", "s"),
        *("8%", "83%", "8%", "nan", "512", "MiB"),
    ]


def test_a_job_as_a_log_line(tmp_path: Path) -> None:
    line = as_line(Folder(run(tmp_path / "r", 3, slow=1)).look())
    assert line == (
        f"{tmp_path / 'r'}: running, 3 ranks, step 40, 4.55 steps/s, loss 1.5, "
        "slowest rank 1 in compute: 0.21 s, others 0.11 s"
    )


@pytest.mark.parametrize(
    ("rank", "expected"),
    [
        (WatchedRank(7, "unknown"), "7  - no steps - - - - - - - - -"),
        (WatchedRank(7, "starting", step=0), "7  - starting 0 - - - - - - - -"),
        (WatchedRank(7, "running", step=1, loss=1e300), "7  - running 1 - - - - - - 1e+300 -"),
        (WatchedRank(7, "running", step=1, loss=12345.6), "7  - running 1 - - - - - - 12346 -"),
        (
            WatchedRank(
                7, "running", "a" * 40, 3, 10, idle_s=6.0, doing="all_reduce", windows=(Span(10, 2, 0.0, 0.0, 0.0),)
            ),
            "7 aaaaaaaaaaaaa... 3 in all_reduce 10 6.0 s - 0 ms 0% 0% 0% - -",
        ),
    ],
)
def test_unknown_values_are_a_dash(rank: WatchedRank, expected: str) -> None:
    assert " ".join(cells(rank)) == expected
    assert len(cells(rank)) == len(HEADINGS)


def test_a_job_without_ranks_is_one_line() -> None:
    assert as_line(job("x", 0.0, ())) == "x: unknown, 0 ranks"
    assert as_text(job("x", 0.0, ())).startswith("x: unknown, 0 ranks")


def test_people_read_chinese(tmp_path: Path) -> None:
    watched = Folder(run(tmp_path / "r", 3, slow=1)).look()
    speak("zh")
    try:
        lines = as_text(watched).splitlines()
    finally:
        speak("en")
    assert lines[0].endswith("：运行中，3 个 rank，step 40，4.55 step/s，loss 1.5")
    assert lines[1].startswith("问题：rank 1（n0，1 号卡）拖慢了其他 rank（自 step 1 起），慢在计算：")
    table = lines[lines.index("") + 1 :][:4]
    assert table[0].split()[:4] == ["rank", "主机", "卡", "状态"]
    assert len({text_width(line) for line in table}) == 1
