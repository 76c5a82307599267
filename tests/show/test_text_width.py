"""Fitting text: never wider than the limit, and complete if possible."""

from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.terminal import text_width
from hccl_kit.show.text_width import MAX_LINES, cut, padded, wrapped

widths = st.integers(8, 60)
texts = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"])) | st.text("ab 节点", max_size=100)


@given(texts, widths)
def test_truncated_text_fits_and_short_text_is_unchanged(text: str, width: int) -> None:
    shown = cut(text, width)
    assert text_width(shown) <= width
    assert shown == text or (shown.endswith("...") and text.startswith(shown[:-3]))
    if len(text) <= width // 2:
        assert shown == text


@given(texts, widths)
def test_padded_text_has_the_requested_width(text: str, width: int) -> None:
    assert text_width(padded(cut(text, width), width)) == width


@given(texts, widths)
def test_wrapped_text_fits_and_loses_nothing_but_spaces(text: str, width: int) -> None:
    lines = wrapped(text, width)
    assert 1 <= len(lines) <= MAX_LINES
    assert max(map(text_width, lines)) <= width
    if not lines[-1].endswith("..."):
        assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_text_is_broken_at_a_space() -> None:
    assert wrapped("one two three", 8) == ["one two", "  three"]
    assert wrapped("节点节点节点", 8) == ["节点节点", "  节点"]


def test_a_text_of_megabytes_is_processed_quickly() -> None:
    assert cut("节" * 5_000_000, 11) == "节节节节..."
    assert len(wrapped("x" * 5_000_000, 11)) == MAX_LINES
