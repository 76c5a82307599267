"""Ranks that have different code or data are an error before the first step."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from hccl_kit.ocr import config
from hccl_kit.ocr.data.samples import TextLine
from hccl_kit.ocr.run import consistency
from hccl_kit.runtime.consistency import JointError
from hccl_kit.runtime.join import World
from tests.ocr.run_tool import CONFIG
from tests.ocr.tiny import ALONE


@dataclass(frozen=True)
class Heard(World):
    """Rank 0 of three, where the last rank reports something else."""

    other: NDArray[np.float32] | None = None

    def gather(self, row: NDArray[np.float32]) -> NDArray[np.float32]:
        return np.stack([row, row, row if self.other is None else self.other])


def three(other: str | None = None) -> Heard:
    said = None if other is None else np.frombuffer(bytes.fromhex(other), np.uint8).astype(np.float32)
    return Heard(replace(ALONE.env, size=3), "plain", "CPU", other=said)


def test_consistent_ranks_continue() -> None:
    loaded = config.load(CONFIG)
    for world in (ALONE, three()):
        consistency.assert_one_job(loaded, world)
        consistency.assert_one_data_set("train", lines("a", "b"), world)


def test_a_different_number_of_samples_is_reported_with_both_values() -> None:
    with pytest.raises(JointError) as caught:
        consistency.assert_one_data_set("eval", lines("a") * 70_000, three(f"{2**40:016x}"))
    message = "rank 2 has another data set in eval.dataset than rank 0: 1099511627776 samples and 70000 samples (1 of 3"
    assert message in caught.value.message
    assert "same files" in str(caught.value.hint)


def test_labels_that_differ_in_content_or_order_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rank would take its share of another list: some samples twice, and others never."""
    monkeypatch.setattr(consistency, "gather_digests", lambda _, own: [own, own if len(own) == 16 else "00" * 32])
    with pytest.raises(JointError, match=r"rank 1 has another data set in train\.dataset than rank 0 \(1 of 2"):
        consistency.assert_one_data_set("train", lines("a", "b"), three())
    sets = (lines("a", "b"), lines("b", "a"), lines("a", "c"), lines("a"), lines(), lines(*"ab" * 5000))
    assert len({consistency.labels_digest(samples) for samples in sets}) == len(sets)


def lines(*texts: str) -> list[TextLine]:
    return [TextLine(Path(f"{text}.png"), text=text) for text in texts]


def test_another_dictionary_is_refused() -> None:
    """The file has the same name on all servers, and as many characters, so nothing else would notice it."""
    for world in (ALONE, three(), three("22" * 32)):
        consistency.assert_one_dictionary("", world)
    consistency.assert_one_dictionary("11" * 32, three())
    with pytest.raises(JointError, match="rank 2 has another dictionary than rank 0") as caught:
        consistency.assert_one_dictionary("11" * 32, three("22" * 32))
    assert "postprocess.character_dict_path" in str(caught.value.hint)


def test_a_different_configuration_is_reported_before_different_code() -> None:
    with pytest.raises(JointError, match="rank 2 has another configuration than rank 0"):
        consistency.assert_one_job(config.load(CONFIG), three("00" * 32))


def test_different_code_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = config.load(CONFIG)
    monkeypatch.setattr(consistency, "code_digest", lambda: "11" * 32)
    with pytest.raises(JointError, match="rank 2 has another version of the code than rank 0"):
        consistency.assert_one_job(loaded, three(loaded.digest))
