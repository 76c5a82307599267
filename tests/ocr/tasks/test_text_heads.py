"""How texts are spelt: the same classes as the reference, and back to the same texts."""

import json

import numpy as np
import pytest

from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.tasks.text_heads import ATTENTION, CTC, Coding
from tests.ocr.reference import REFERENCE

ABC = Charset("abc")


def test_targets_are_those_of_the_reference() -> None:
    with (REFERENCE / "metrics_and_labels.json").open(encoding="utf-8") as file:
        expected = json.load(file)["attn_encode"]
    charset = Charset.load(None, use_space_char=False)
    for case in expected:
        label = tuple(charset.encode(case["text"], lower=True))
        [targets] = ATTENTION.targets([label], case["max_text_len"])
        assert targets.tolist() == [case["text_seq"]]
        assert len(ATTENTION.signs(charset)) == case["num_classes"]


@pytest.mark.parametrize("coding", [CTC, ATTENTION])
def test_every_class_stands_for_one_thing(coding: Coding) -> None:
    """A text that is spelt with the classes of its characters is read again."""
    signs = coding.signs(ABC)
    assert len(set(signs)) == len(signs)
    ends = [signs.index("<stop>")] if "<stop>" in signs else []
    path = [*(signs.index(character) for character in "cab"), *ends]
    [reading] = coding.decode(np.eye(len(signs), dtype=np.float32)[path][None], ABC)
    assert (reading.text, reading.confidence) == ("cab", 1.0)


def test_ctc_needs_a_step_for_each_character_and_between_two_that_are_equal() -> None:
    assert [CTC.steps(label) for label in ((0,), (0, 1), (0, 0), (1, 1, 1))] == [1, 2, 3, 5]
    assert ATTENTION.steps((1,) * 40) == 1
