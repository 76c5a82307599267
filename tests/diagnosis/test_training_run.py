"""A run is described from its summary: its initial weights and its scores, whatever the file contains."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.diagnosis import training_run
from hccl_kit.diagnosis.training_run import FACTS, SCORES, described

BEFORE, KEPT, LAST = ({"words": 20, "word_accuracy": score, "norm_edit_distance": 0.9} for score in (0.5, 0.75, 0.7))
SUMMARY: dict[str, Any] = {
    **LAST,
    "steps": 40,
    "world_size": 2,
    "launcher": "mpirun",
    "ranks_equal": True,
    "wall_s": 3.5,
    "before": BEFORE,
    "kept": KEPT,
    "started_from": {"model.pretrained": "/home/me/secret/best.ckpt", "model.backbone.pretrained": "rapidocr:rec"},
}


def written(folder: Path, summary: Any) -> Path:
    (folder / "summary.json").write_text(summary if isinstance(summary, str) else json.dumps(summary))
    return folder


def test_describes_a_fine_tuning(tmp_path: Path) -> None:
    assert described(written(tmp_path, SUMMARY)) == {
        "steps": 40,
        "world_size": 2,
        "launcher": "mpirun",
        "ranks_equal": True,
        "started_from": {"model.pretrained": "best.ckpt", "model.backbone.pretrained": "rapidocr:rec"},
        "before": {"word_accuracy": 0.5, "norm_edit_distance": 0.9},
        "best": {"word_accuracy": 0.75, "norm_edit_distance": 0.9},
        "last": {"word_accuracy": 0.7, "norm_edit_distance": 0.9},
    }


def test_describes_a_training_from_scratch(tmp_path: Path) -> None:
    assert described(written(tmp_path, {"steps": 3, "f-score": 0.12345})) == {
        "steps": 3,
        "started_from": {},
        "last": {"f-score": 0.1235},
    }


@pytest.mark.parametrize("content", ["", "[]", "{", "1", "[" * 100_000, "NaN"])
def test_a_file_that_is_not_a_summary_is_an_error(tmp_path: Path, content: str) -> None:
    with pytest.raises(KitError, match=r"summary\.json is not the summary of a training run"):
        described(written(tmp_path, content))


def test_a_folder_without_a_summary_names_the_accepted_inputs(tmp_path: Path) -> None:
    with pytest.raises(KitError, match=r"cannot read .*summary\.json") as caught:
        described(tmp_path)
    assert "the folder of a training that has ended" in str(caught.value.hint)


def test_a_large_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_run, "MAX_BYTES", 10)
    with pytest.raises(KitError, match="is larger than 10 bytes"):
        described(written(tmp_path, SUMMARY))


scalars = (
    st.sampled_from([10**400, -(10**400)])
    | st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=300)
)
rows = scalars | st.dictionaries(st.sampled_from(SCORES) | st.text(max_size=5), scalars, max_size=4)


@given(st.dictionaries(st.sampled_from([*FACTS, *SCORES, "before", "kept", "started_from"]), rows))
def test_any_summary_gives_short_values_of_known_types(tmp_path_factory: pytest.TempPathFactory, summary: Any) -> None:
    found = described(written(tmp_path_factory.mktemp("run"), summary))
    assert found.keys() <= {*FACTS, "started_from", "before", "best", "last"}
    assert all(len(value) <= 100 and "/" not in value for value in found["started_from"].values())
    assert all(isinstance(found.get(name, 0), (int, str)) for name in FACTS)
    for name in ("before", "best", "last"):
        assert found.get(name, {}).keys() <= set(SCORES)
    json.dumps(found, allow_nan=False)
