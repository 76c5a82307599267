import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.wording import counted, either, indented, joined, listed, shortened, spans


@pytest.mark.parametrize(("number", "text"), [(0, "0 servers"), (1, "1 server"), (2, "2 servers")])
def test_a_noun_agrees_with_its_number(number: int, text: str) -> None:
    assert counted(number, "server") == text


@pytest.mark.parametrize(("items", "text"), [([1], "1"), ([1, 2], "1 and 2"), ([1, 2, 4], "1, 2 and 4")])
def test_joined_has_one_conjunction(items: list[int], text: str) -> None:
    assert joined(items) == text


def test_either_has_a_conjunction_between_all() -> None:
    assert either(["a", "b", "c"]) == "a or b or c"
    assert either(["a"]) == "a"


def test_joined_accepts_another_conjunction() -> None:
    assert joined(["a", "b"], "or") == "a or b"


@pytest.mark.parametrize(("limit", "text"), [(3, "a, b, c"), (2, "a, b and 1 more"), (1, "a and 2 more")])
def test_a_truncated_list_counts_the_omitted_items(limit: int, text: str) -> None:
    assert listed("abc", limit) == text
    assert listed([]) == ""


def test_indented_lines_stay_below_the_message() -> None:
    assert "lost:" + indented(["a\nb", "c"]) == "lost:\n    a\n    b\n    c"


def test_truncated_lines_count_the_omitted_ones() -> None:
    assert shortened(["a", "b"], 2) == ["a", "b"]
    assert shortened(["a", "b", "c"], 1) == ["a", "and 2 more"]


@pytest.mark.parametrize(
    ("numbers", "texts"), [([], []), ([3], ["3"]), ([0, 1], ["0-1"]), ([0, 4, 5, 6, 8], ["0", "4-6", "8"])]
)
def test_consecutive_numbers_are_one_span(numbers: list[int], texts: list[str]) -> None:
    assert spans(numbers) == texts


@given(st.sets(st.integers(0, 40)))
def test_spans_name_every_number(numbers: set[int]) -> None:
    named: list[int] = []
    for piece in spans(numbers):
        first, _, last = piece.partition("-")
        named += range(int(first), int(last or first) + 1)
    assert named == sorted(numbers)
