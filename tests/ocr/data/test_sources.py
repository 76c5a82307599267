"""Sources of samples: label files and their folders, missing ones, and a share that is equal on all ranks."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.data.sources import share, sources


@pytest.fixture
def dataset(tmp_path: Path) -> dict[str, Any]:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / f"{name}.txt").touch()
    return {"dataset_root": str(tmp_path), "data_dir": "one", "label_file": "one.txt"}


def test_a_single_source_is_used_completely(dataset: dict[str, Any], tmp_path: Path) -> None:
    assert sources(dataset) == [(tmp_path / "one.txt", tmp_path / "one", 1.0)]


def test_folder_and_share_apply_to_each_label_file_or_to_all(dataset: dict[str, Any], tmp_path: Path) -> None:
    labels = {"label_file": ["one.txt", "two.txt"]}
    own = sources(dataset | labels | {"data_dir": ["one", "two"], "sample_ratio": [1.0, 0.5]})
    assert own == [(tmp_path / "one.txt", tmp_path / "one", 1.0), (tmp_path / "two.txt", tmp_path / "two", 0.5)]
    alike = sources(dataset | labels | {"sample_ratio": 0.5})
    assert alike == [(tmp_path / "one.txt", tmp_path / "one", 0.5), (tmp_path / "two.txt", tmp_path / "one", 0.5)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"label_file": "no.txt"}, "there is no label file or folder .*no.txt"),
        ({"label_file": ""}, "label_file is empty"),
        ({"data_dir": "one.txt"}, "data_dir .*one.txt is not a folder"),
        (
            {"label_file": ["one.txt"] * 3, "data_dir": ["one"] * 2},
            "3 label_file, 2 data_dir and 1 sample_ratio differ in number",
        ),
        ({"sample_ratio": [0.5, 0.5]}, "1 label_file, 1 data_dir and 2 sample_ratio"),
    ],
)
def test_missing_and_inconsistent_settings_are_named(
    dataset: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    with pytest.raises(KitError, match=message):
        sources(dataset | change)


@given(st.integers(0, 300), st.floats(0, 1))
def test_a_share_has_its_size_and_is_spread_evenly(count: int, ratio: float) -> None:
    chosen = share(count, ratio)
    assert len(chosen) == int(count * ratio + 1e-9)
    assert len(set(chosen.tolist())) == len(chosen)
    for middle in range(count):
        assert abs(int((chosen < middle).sum()) - middle * ratio) <= 1 + 1e-6


@given(st.integers(0, 100), st.floats(1, 7))
def test_a_share_above_1_repeats_samples_equally(count: int, ratio: float) -> None:
    chosen = share(count, ratio)
    assert len(chosen) == int(count * ratio + 1e-9)
    assert (np.diff(chosen) >= 0).all()
    times = np.bincount(chosen, minlength=count)
    assert ((times == int(ratio)) | (times == int(ratio) + 1) | (abs(times - ratio) < 1e-6)).all()
