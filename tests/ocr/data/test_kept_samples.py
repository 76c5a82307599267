"""Prepared samples are kept in memory if they are deterministic, up to a memory limit."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from hccl_kit.ocr.data.kept_samples import KeptSamples
from hccl_kit.ocr.data.samples import BadSampleError, TextLine

BYTES = 24
LINE = TextLine(Path("a.png"))


class Prepared:
    """Counts how often a sample is prepared; with `draws`, the preparation uses a random number."""

    def __init__(self, *, draws: bool = False) -> None:
        self.draws = draws
        self.times = 0

    def __call__(self, _: int, generator: np.random.Generator) -> TextLine:
        self.times += 1
        value = generator.random() if self.draws else 1.0
        return replace(LINE, image=np.full((3, 1, 2), value, np.float32))


def test_a_sample_is_prepared_once() -> None:
    kept, prepare = KeptSamples(), Prepared()
    first, second = (kept.sample(4, (7, epoch), prepare) for epoch in range(2))
    assert first is second
    assert prepare.times == 1
    assert kept.sample(5, (7, 0), prepare) is not first


def test_a_random_sample_differs_in_every_epoch() -> None:
    kept, prepare = KeptSamples(), Prepared(draws=True)
    values = [kept.sample(4, (7, epoch), prepare).image.flat[0] for epoch in (0, 1, 0)]
    assert prepare.times == 3
    assert values[0] == values[2] != values[1]


@pytest.mark.parametrize("room", [0, 1, 3])
def test_the_memory_is_limited(room: int) -> None:
    kept, prepare = KeptSamples(room * BYTES + BYTES - 1), Prepared()
    for _ in range(2):
        for number in range(5):
            kept.sample(number, (), prepare)
    assert prepare.times == 5 + 5 - room


def test_a_bad_sample_stays_bad() -> None:
    def fail(_: int, __: np.random.Generator) -> TextLine:
        raise BadSampleError("cut off")

    kept = KeptSamples()
    for _ in range(2):
        with pytest.raises(BadSampleError):
            kept.sample(0, (0, 0), fail)
