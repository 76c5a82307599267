"""Batch normalisations with the names of `mindspore.mint`, and parameters that only look like them."""

import numpy as np

from hccl_kit.ocr.adapt import norm_names

ONE = np.ones(1, np.float32)


def test_the_four_vectors_are_renamed_and_the_number_of_batches_is_dropped() -> None:
    names = ("weight", "bias", "running_mean", "running_var", "num_batches_tracked")
    given = {f"layer1.0.bn1.{name}": number * ONE for number, name in enumerate(names)}
    found = norm_names.as_here({**given, "layer1.0.conv1.weight": 9 * ONE, "bn1.weight": 8 * ONE})
    assert {name: float(array[0]) for name, array in found.items()} == {
        "layer1.0.bn1.gamma": 0,
        "layer1.0.bn1.beta": 1,
        "layer1.0.bn1.moving_mean": 2,
        "layer1.0.bn1.moving_variance": 3,
        "layer1.0.conv1.weight": 9,
        "bn1.weight": 8,  # without a mean it is not a normalisation
    }


def test_names_of_mindspore_are_kept() -> None:
    given = {"bn1.gamma": ONE, "bn1.moving_mean": ONE, "running_mean.weight": ONE}
    assert norm_names.as_here(given) == given
