"""Files that are part of an installation, found by their names."""

from pathlib import Path

import pytest

from hccl_kit.base import shipped
from tests.places import ROOT


@pytest.mark.parametrize("name", ["rec/dict/ascii_lower.txt", "configs/rec/dict/ascii_lower.txt"])
def test_a_shipped_file_is_found_by_its_name(name: str) -> None:
    assert shipped.config(Path(name)) == ROOT / "configs" / "rec" / "dict" / "ascii_lower.txt"


@pytest.mark.parametrize("name", ["rec/crnn/crnn_small", "configs/rec/crnn/crnn_small", "rec/crnn/crnn_small.yaml"])
def test_a_configuration_is_found_without_its_ending_too(name: str) -> None:
    assert shipped.config(Path(name)) == ROOT / "configs" / "rec" / "crnn" / "crnn_small.yaml"


@pytest.mark.parametrize(
    "name",
    [
        "rec/none.yaml",
        "rec",
        "configs",
        ".",
        "../pyproject.toml",
        "configs/../pyproject.toml",
        "/etc/passwd",
        "a" * 300,
    ],
)
def test_no_other_path_is_found(name: str) -> None:
    assert shipped.config(Path(name)) is None


def test_every_listed_name_is_found() -> None:
    names = shipped.config_names()
    assert "rec/crnn/crnn_small.yaml" in names
    assert all(shipped.config(Path(name)) for name in names)


def test_a_folder_that_is_not_shipped_is_not_found() -> None:
    assert shipped.folder("no_such_folder") is None
