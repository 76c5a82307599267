"""Lines in the grammar of HCCL's logs: the explanation of each, with its values and its code."""

import pytest

from hccl_kit.diagnosis.answer_text import as_page
from hccl_kit.diagnosis.known_lines import Explanation, explain_lines
from hccl_kit.diagnosis.lookup import explain

HEAD = "[ERROR] HCCL(4711,train):2026-02-03-04:05:06.007.008 [some_file.cc:12] [4712]"
INFO = HEAD.replace("ERROR", "INFO")


def told(found: Explanation) -> str:
    return "; ".join(sentence for answer in found.answers for sentence in answer.says)


@pytest.mark.parametrize(
    "prefix",
    [
        "[rank1]: ",
        "(Worker_TP11 pid=15618) ERROR 10-11 11:32:59 [model_runner_v1.py:3556] ",
        "(TaskRunner pid=7) ",
        "worker-1: ",
        "run/plog/plog-7_2026.log:14:",
        "        ",
    ],
)
def test_the_prefix_of_a_framework_does_not_change_the_explanation(prefix: str) -> None:
    line = f"{HEAD}socket type[1], listen on ip[192.168.7.8] and specific port[16670] fail."
    assert explain(prefix + line).answers[0]._replace(text="") == explain(line).answers[0]._replace(text="")


LOG = f"""\
some program starts
{INFO}Entry-HcclCommInitRootInfoInner:ranks[4], rank[3], rootinfo: host ip[10.1.1.1] identifier[g], deviceLogicId[3]
{HEAD}socket type[1], listen on ip[192.168.7.8] and specific port[16670] fail.
{HEAD}call trace: hcclRet -> 19
{HEAD}wait socket establish timeout, role[1] rank[12] timeout[120]
RuntimeError: HCCL function error: HcclAllReduce(x), error code is 7
"""


def test_the_root_error_of_a_log_is_explained_with_its_line_number() -> None:
    found = explain(LOG)
    assert (found.answers[0].line, found.answers[0].code) == (3, "EI0020")
    assert "line:        3: [ERROR] HCCL(4711,train)" in as_page(found, 500)


@pytest.mark.parametrize(("without", "line"), [((2,), 5), ((2, 4), 4), ((2, 3, 4, 5), 2)])
def test_a_consequence_is_preferred_to_a_result_and_a_result_to_a_fact(without: tuple[int, ...], line: int) -> None:
    kept = ["-" if number in without else each for number, each in enumerate(LOG.split("\n"))]
    assert explain("\n".join(kept)).answers[0].line == line


def test_a_note_points_at_a_program_error_above_a_timeout() -> None:
    found = explain(
        f"Traceback\nValueError: no such key\n{HEAD}wait socket establish timeout, role[1] rank[1] timeout[9]"
    )
    assert found.answers[0].line == 3
    assert found.notes == ("line 2 has an earlier error of the program itself; read it first: ValueError: no such key",)


@pytest.mark.parametrize(
    "line",
    [
        "KeyError: 3",
        "my.own.StopException",
        "KeyboardInterrupt",
        "Segmentation fault (core dumped)",
        "timeout: the monitored command dumped core, core dumped",
        "Killed",
        "Out of memory: Killed process 7 (python)",
        "oom-kill:constraint=CONSTRAINT_MEMCG",
        "OSError: [Errno 28] No space left on device",
        "Bus error",
    ],
)
def test_a_program_error_far_above_a_timeout_is_found_too(line: str) -> None:
    """Other lines of its part of the log need not be known."""
    log = [line, *["step"] * 1000, f"{HEAD}wait socket establish timeout, role[1] rank[1] timeout[9]"]
    found = explain_lines(log)
    assert found is not None
    assert any(line in text for text in (*found.notes, found.answers[0].text))


def test_the_value_of_a_message_is_found_far_from_known_lines() -> None:
    found = explain_lines([*["step"] * 1000, "Value 9 for ranktable variable new_name is invalid."])
    assert found is not None
    assert (found.answers[0].line, found.answers[0].code) == (1001, "EI0014")


def test_values_are_bounded() -> None:
    found = explain(
        f"EI0001: Value {'9' * 100} for environment variable HCCL_RDMA_SL is invalid. Expected: {'x' * 9_000}"
    )
    assert max(map(len, told(found).split("; "))) < 200


def test_a_page_is_wrapped() -> None:
    for width in (60, 80, 120):
        lines = as_page(explain("EI0006"), width).split("\n")
        assert max(map(len, lines)) <= width
        assert lines[0].startswith("EI0006: a rank timed out")
