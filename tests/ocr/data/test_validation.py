"""The validation part of a training set: whole sources, the same on every rank and in every run."""

from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.ocr import config
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.data.validation import chosen, divide, source_of
from tests.ocr.run_tool import CONFIG

RECEIPTS = [Path(f"crops/X{receipt:05}_{line}.jpg") for receipt in range(40) for line in range(1, 8 + receipt % 5)]


@pytest.mark.parametrize(
    ("name", "source"),
    [("a/r7_12.png", "a/r7"), ("a/img-3.jpg", "a/img"), ("a/page.png", "a/page"), ("a/0001.png", "a"), ("b9.png", "b")],
)
def test_a_name_without_its_last_number_is_the_source(name: str, source: str) -> None:
    assert source_of(Path(name)) == source


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("part", [0.05, 0.1, 0.5])
def test_no_source_is_in_both_parts(part: float, seed: int) -> None:
    rest, validation = divide(RECEIPTS, part, seed=seed)
    assert sorted(rest + validation) == [*range(len(RECEIPTS))]
    assert not {source_of(RECEIPTS[n]) for n in rest} & {source_of(RECEIPTS[n]) for n in validation}
    assert part <= len(validation) / len(RECEIPTS) < part + 12 / len(RECEIPTS)  # at most one receipt too many
    assert divide(RECEIPTS, part, seed=seed) == (rest, validation)
    assert divide(RECEIPTS[::-1], part, seed=seed) == (
        sorted(len(RECEIPTS) - 1 - n for n in rest), sorted(len(RECEIPTS) - 1 - n for n in validation)
    )  # fmt: skip


def test_another_seed_takes_other_sources() -> None:
    assert len({tuple(divide(RECEIPTS, 0.1, seed=seed).validation) for seed in range(8)}) > 4


@pytest.mark.parametrize("name", ["word_{}.png", "{:06}.png"])
def test_names_without_a_source_give_one_block(name: str) -> None:
    rest, validation = divide([Path(name.format(number)) for number in range(200)], 0.1, seed=3)
    assert (len(rest), len(validation)) == (180, 20)
    assert validation[-1] - validation[0] == 19


def test_nothing_left_for_a_part_is_refused_and_no_share_changes_nothing() -> None:
    line = TextLine(Path("a_1.png"))
    with pytest.raises(KitError, match="leaves nothing for one of both parts"):
        chosen([line], config.load(CONFIG, ["train.validation=0.1"]), "train")
    assert chosen([line], config.load(CONFIG), "train") == [line]
