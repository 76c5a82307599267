"""A change of the dictionary: properties of the alignment, and heads that keep the output for known characters."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mindspore import Tensor, nn
from numpy.typing import NDArray

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.adapt.classifier import PLACES, align, by_character
from hccl_kit.ocr.models.crnn import AttentionHead
from hccl_kit.ocr.models.ppocr import nrtr
from tests.ocr.tiny import values

pytestmark = pytest.mark.train

Array = NDArray[np.float32]
characters = st.characters(categories=["L", "N", "P", "S", "Zs"])
dictionaries = st.text(characters, min_size=1, max_size=12).map(lambda text: "".join(dict.fromkeys(text)))
places = st.sampled_from(sorted(PLACES))


def parameter(name: str, dictionary: Sequence[str]) -> Array:
    """A parameter of this name: three values for each class, and four features before the classes on axis 1."""
    place = PLACES[name]
    count = len(place.tokens(dictionary)) + 4 * place.axis
    return np.random.default_rng(count).standard_normal((3, count) if place.axis else (count, 3)).astype(np.float32)


def of(array: Array, name: str, dictionary: str, character: str) -> Array:
    """The values of one character."""
    place = PLACES[name]
    number = place.tokens(dictionary).index(character) - len(place.tokens(dictionary))
    return np.asarray(array.take(number, axis=place.axis))


def changed(name: str, array: Array, before: str, after: str) -> Array:
    return by_character({name: array, "backbone.weight": array}, before, after)[0][name]


@given(places, dictionaries)
def test_the_same_dictionary_changes_nothing(name: str, dictionary: str) -> None:
    array = parameter(name, dictionary)
    rows, note = by_character({name: array, "other": array}, dictionary, dictionary)
    assert rows[name].tobytes() == array.tobytes()
    assert rows["other"] is array
    count = len(dictionary)
    assert note == f"{count} of its {count} characters keep their weights"


@given(places, dictionaries, st.randoms(use_true_random=False))
def test_another_order_permutes_the_characters_and_can_be_reversed(name: str, dictionary: str, random: Random) -> None:
    other = "".join(random.sample(dictionary, len(dictionary)))
    array = parameter(name, dictionary)
    moved = changed(name, array, dictionary, other)
    for character in dictionary:
        assert np.array_equal(of(moved, name, other, character), of(array, name, dictionary, character))
    assert changed(name, moved, other, dictionary).tobytes() == array.tobytes()


@given(places, dictionaries, dictionaries, st.data())
def test_a_smaller_and_then_a_larger_dictionary_keep_the_common_characters(
    name: str, dictionary: str, more: str, data: st.DataObject
) -> None:
    part = "".join(data.draw(st.lists(st.sampled_from(dictionary), min_size=1, unique=True)))
    whole = "".join(dict.fromkeys(more + dictionary))
    array = parameter(name, dictionary)
    last = changed(name, changed(name, array, dictionary, part), part, whole)
    assert last.shape == parameter(name, whole).shape
    for character in part:
        assert np.array_equal(of(last, name, whole, character), of(array, name, dictionary, character))
    mean = np.mean([of(array, name, dictionary, character) for character in part], axis=0)
    for character in set(whole) - set(part):
        np.testing.assert_allclose(of(last, name, whole, character), mean, rtol=1e-4, atol=1e-5)


@given(places, dictionaries, dictionaries)
def test_values_that_belong_to_no_character_are_kept(name: str, before: str, after: str) -> None:
    """The blank, the special tokens, and the features before the classes."""
    after += before[0] * (before[0] not in after)
    place, array = PLACES[name], parameter(name, before)
    moved = changed(name, array, before, after)
    fixed = [*range(4 * place.axis + len(place.before)), *(-1 - number for number in range(len(place.after)))]
    assert np.array_equal(moved.take(fixed, axis=place.axis), array.take(fixed, axis=place.axis))


@given(dictionaries, dictionaries)
def test_the_note_counts_kept_new_and_removed_characters(before: str, after: str) -> None:
    shared = set(before) & set(after)
    if not shared:
        with pytest.raises(KitError, match="no character in common with the configuration's"):
            by_character({}, before, after)
        return
    _, note = by_character({}, before, after)
    assert note.startswith(f"{len(shared)} of its {len(before)} characters keep their weights")
    assert ("are new" in note) == (len(after) > len(shared))
    assert ("are left out" in note) == (len(before) > len(shared))


@pytest.mark.parametrize("size", [0, 3, 5])
def test_a_classifier_of_another_size_than_its_dictionary_is_refused(size: int) -> None:
    with pytest.raises(KitError, match=rf"head\.dense1\.weight has {size} classes; expected 4 for its dictionary"):
        by_character({"head.dense1.weight": np.zeros((size, 2))}, "abc", "ab")
    with pytest.raises(KitError, match=r"head\.dense1\.bias has 0 classes"):
        by_character({"head.dense1.bias": np.zeros(())}, "abc", "ab")


def test_dictionaries_with_only_the_blank_in_common_are_refused() -> None:
    with pytest.raises(KitError, match="no character"):
        align((None, "a"), (None, "b"))


def loaded(network: nn.Cell, rows: dict[str, Array]) -> nn.Cell:
    for found in network.get_parameters():
        found.set_data(Tensor(rows[f"head.{found.name}"]))
    return network


def rows_of(network: nn.Cell) -> dict[str, Array]:
    return {f"head.{name}": value for name, value in values(network).items()}


def test_an_attention_decoder_reads_the_same_with_another_order() -> None:
    """Its output is its next input, so both positions of a character must be permuted."""
    before, after = "abcde", "edcab"
    sequence = Tensor(np.random.default_rng(0).standard_normal((6, 2, 4)).astype(np.float32))

    def made() -> AttentionHead:
        return AttentionHead(4, out_channels=7, hidden_size=8, batch_max_length=3)

    one = made()
    rows = {name: 3 * value for name, value in rows_of(one).items()}
    expected = loaded(one, rows)(sequence).asnumpy()
    other = loaded(made(), by_character(rows, before, after)[0])(sequence).asnumpy()
    order = [0, 1, *(2 + before.index(character) for character in after)]
    np.testing.assert_allclose(other, expected[..., order], atol=1e-6)
    assert np.ptp(expected[..., 2:]) > 0.01


def test_the_guiding_decoder_of_ctc_reads_the_same_with_another_order() -> None:
    before, after = "abcde", "edcab"
    features = Tensor(np.random.default_rng(0).standard_normal((2, 8, 1, 5)).astype(np.float32))
    tokens = np.array([[2, 4, 6, 8, 3], [2, 5, 3, 0, 0]], np.int32)
    order = [0, 1, 2, 3, *(4 + before.index(character) for character in after)]

    def made() -> nrtr.MultiHead:
        return nrtr.MultiHead(8, 8, out_channels=6, nrtr_dims=32, nrtr_layers=1)

    one = made()
    one.set_train(False)
    sequence = Tensor(np.zeros((5, 2, 8), np.float32))
    rows = rows_of(one)
    _, expected = one(sequence, features, Tensor(tokens))
    other = loaded(made(), by_character(rows, before, after)[0])
    other.set_train(False)
    _, found = other(sequence, features, Tensor(np.argsort(order)[tokens].astype(np.int32)))
    np.testing.assert_allclose(found.asnumpy(), expected.asnumpy()[..., order], atol=1e-5)
