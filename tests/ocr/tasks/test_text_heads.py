"""Text heads: the same classes as the reference, and decoding restores the texts."""

import json

import numpy as np
import pytest

from hccl_kit.ocr.charset import Charset
from hccl_kit.ocr.tasks.text_heads import ATTENTION, CTC, MULTI, TextHead
from tests.ocr.reference import REFERENCE

ABC = Charset("abc")


def test_targets_match_the_reference() -> None:
    with (REFERENCE / "metrics_and_labels.json").open(encoding="utf-8") as file:
        expected = json.load(file)["attn_encode"]
    charset = Charset.load(None, use_space_char=False)
    for case in expected:
        label = tuple(charset.encode(case["text"], lower=True))
        [targets] = ATTENTION.targets([label], case["max_text_len"])
        assert targets.tolist() == [case["text_seq"]]
        assert len(ATTENTION.classes(charset)) == case["num_classes"]


@pytest.mark.parametrize("head", [CTC, ATTENTION, MULTI])
def test_every_class_has_one_meaning(head: TextHead) -> None:
    """A text is decoded from the classes of its characters."""
    classes = head.classes(ABC)
    assert len(set(classes)) == len(classes)
    ends = [classes.index("<stop>")] if "<stop>" in classes else []
    path = [*(classes.index(character) for character in "cab"), *ends]
    [reading] = head.decode(np.eye(len(classes), dtype=np.float32)[path][None], ABC)
    assert (reading.text, reading.confidence) == ("cab", 1.0)


def test_ctc_needs_a_time_step_for_each_character_and_between_two_that_are_equal() -> None:
    assert [CTC.min_length(label) for label in ((0,), (0, 1), (0, 0), (1, 1, 1))] == [1, 2, 3, 5]
    assert ATTENTION.min_length((1,) * 40) == 1


def test_targets_of_a_guided_head_are_ctc_targets_and_decoder_tokens() -> None:
    labels, lengths, tokens = MULTI.targets([(0, 2), ()], 3)
    assert labels.tolist() == [[0, 2, 0], [0, 0, 0]]
    assert lengths.tolist() == [2, 0]
    assert tokens.tolist() == [[2, 4, 6, 3, 0], [2, 3, 0, 0, 0]]
