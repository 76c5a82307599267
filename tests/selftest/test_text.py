"""The text report."""

import re
from dataclasses import replace

from hccl_kit.base.terminal import text_width
from hccl_kit.base.translation import speak
from hccl_kit.selftest.evidence import weigh
from hccl_kit.selftest.measured import Collective, Measured, Split
from hccl_kit.selftest.rounds import Card
from hccl_kit.selftest.text import as_text
from hccl_kit.selftest.verdict import judge
from tests.selftest.results import broken, healthy, in_passes, slowed, wrong

REPORT = """\
t.json: 3 ranks on 3 servers, measured with MPI

arithmetic                 GFLOP/s  memory GB/s
rank 0 (10.0.0.1, card 0)    100.0         8.00  ########################
rank 1 (10.0.0.2, card 0)    100.0         8.00  ########################
rank 2 (10.0.0.3, card 0)    100.0         8.00  ########################

pair of ranks  servers   GB/s
0 and 1        between  2.000  ########################
0 and 2        between  0.400  #####
1 and 2        between  0.400  #####

collective     size  time us  algbw GB/s  busbw GB/s
all_reduce    1 MiB    500.0       2.097       2.796  ########################
all_reduce  100 MiB        -           -           -  rank 1: timed out

error: server 10.0.0.3 (rank 2) is slow with all 2 partners on other servers: at most 20% of the others
  fix: it computes at full speed, so check its network port, cable and switch port (hccn_tool -link_stat -g)"""


def harmed() -> Measured:
    collectives = (
        Collective("all_reduce", 1 << 20, 3, 5e-4),
        Collective("all_reduce", 100 << 20, 3, None, "rank 1: timed out"),
    )
    return replace(slowed(healthy(3, 1), lambda pair: 2 in pair, 0.2), collectives=collectives)


def text(measured: Measured) -> str:
    return as_text(measured, weigh(judge(measured), measured), table="t.json", color=False)


def test_the_report_matches_the_expected_text() -> None:
    measured = harmed()
    assert text(measured) == REPORT


def test_only_the_slowest_of_many_pairs_are_listed() -> None:
    measured = slowed(healthy(12, 1), lambda pair: pair == (3, 7), 0.1)
    lines = text(measured).split("\n")
    assert any(line.startswith("3 and 7") for line in lines)
    assert "the slowest 28 of 66" in lines
    assert len(lines) < 60


def test_failed_and_wrong_pairs_are_marked() -> None:
    shown = text(wrong(broken(healthy(4, 1), lambda pair: pair == (0, 1)), lambda pair: pair == (2, 3)))
    assert "0 and 1        between      -  timed out" in shown
    assert "2 and 3        between      -  wrong result" in shown


def test_halves_of_the_servers_are_shown() -> None:
    halves = (("10.0.0.1", "10.0.0.2"), ("10.0.0.3", "10.0.0.4"))
    shown = text(replace(healthy(4, 1), splits=(Split(halves, ((1.0, 0.5), (0.9, 2.0))),)))
    assert (
        """
half of the servers   GB/s
10.0.0.1, 10.0.0.2   1.000  ############
10.0.0.3, 10.0.0.4   2.000  ########################
"""
        in shown
    )


def test_an_uncertain_fault_is_a_warning() -> None:
    measured = in_passes(slowed(healthy(3, 1), lambda pair: 2 in pair, 0.2), 1)
    *_, warning, hint, last = text(measured).split("\n")
    assert warning.startswith(
        "warning: uncertain, since the machine is busy: server 10.0.0.3 (rank 2) is slow with all 2"
    )
    assert warning.endswith("; healthy ones were slow in 0 of 1 measurements")
    assert hint.startswith("  fix: other programs use these servers")
    assert last == "ok: 3 pairs, 0 collectives"


def test_control_characters_in_names_of_a_table_are_replaced() -> None:
    cards = tuple(Card(card.rank, "\x1b[31mhost", card.device) for card in healthy(1, 2).cards)
    assert "\x1b" not in text(replace(healthy(1, 2), cards=cards))


def test_people_read_chinese() -> None:
    speak("zh")
    try:
        lines = text(harmed()).splitlines()
    finally:
        speak("en")
    assert re.fullmatch(r"\S+：\d+ 台服务器，\d+ 个 rank，用 MPI 测量", lines[0])
    rows = lines[2 : lines.index("", 2)]
    assert len({text_width(row.partition("#")[0].rstrip()) for row in rows}) == 1
    assert [line for line in lines if line.startswith("错误：")]
    assert [line for line in lines if line.startswith("  解决方法：")]
