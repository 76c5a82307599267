"""Parts of a data set: no page is in two of them, and together they hold every sample once."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.ocr.data.page_split import between, numbered, page_names


@given(st.lists(st.integers(0, 20), min_size=1), st.integers(0, 2**32 - 1), st.lists(st.floats(0, 1), max_size=3))
def test_any_cuts_partition_the_samples_by_page(pages: list[int], seed: int, inner: list[float]) -> None:
    numbers = numbered(pages)
    parts = [between(numbers, cut, seed=seed) for cut in pairwise([0.0, *sorted(inner), 1.0])]
    assert sorted(np.concatenate(parts).tolist()) == list(range(len(pages)))
    assert sum(len({pages[number] for number in part}) for part in parts) == len(set(pages))


def test_a_tenth_of_many_pages_is_about_a_tenth_of_their_lines() -> None:
    pages = np.repeat(np.arange(60), np.arange(1, 61))
    assert len(between(pages, [0.9, 1], seed=0)) == pytest.approx(0.1 * len(pages), abs=60)


@pytest.mark.parametrize(
    ("names", "pages"),
    [
        (["a_001.png", "a_002.png", "b_001.png"], 2),
        (["a/1.png", "a/2.png", "b/1.png"], 2),
        (["p-1.x.png", "p-2.x.png", "q.png"], 3),
        (["word_1.png", "word_2.png", "word_3.png"], 3),
        (["00000.png", "00001.png"], 2),
        (["one.png"], 1),
    ],
)
def test_the_names_of_images_tell_their_pages(names: list[str], pages: int) -> None:
    assert len(set(page_names([Path(name) for name in names]))) == pages


def test_without_pages_neighbours_of_the_label_file_stay_together() -> None:
    names = page_names([Path(f"word_{number}.png") for number in range(2000)])
    assert len(set(names)) == 200
    parts = [between(numbered(names), split, seed=5).tolist() for split in ([0, 0.9], [0.9, 1])]
    assert len(parts[1]) == 200
    assert {number // 10 for number in parts[0]}.isdisjoint(number // 10 for number in parts[1])
