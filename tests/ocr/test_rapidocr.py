"""The weights of an installed rapidocr package: found without importing it, and only if their digests are known."""

import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.base.extra import install_extra
from hccl_kit.ocr import rapidocr


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    rapidocr.path.cache_clear()
    yield
    rapidocr.path.cache_clear()


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = SimpleNamespace(version="9.9", locate_file=lambda inside: folder / inside)
    monkeypatch.setattr(metadata, "distribution", lambda _: package)


@pytest.mark.parametrize("name", rapidocr.FILES)
def test_the_installed_files_are_the_known_ones(name: str) -> None:
    try:
        metadata.distribution("rapidocr")
    except metadata.PackageNotFoundError:
        pytest.skip("rapidocr is not installed")
    before = set(sys.modules)
    assert rapidocr.path(name).is_file()
    assert "rapidocr" not in set(sys.modules) - before


def test_the_dictionary_has_an_ideographic_space_and_no_other() -> None:
    pytest.importorskip("onnx")
    try:
        characters = rapidocr.characters("rapidocr:rec")
    except KitError:
        pytest.skip("rapidocr is not installed")
    assert len(characters) == len(set(characters)) == 18708
    assert "　" in characters
    assert " " not in characters


def test_without_the_package_the_install_command_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_: str) -> None:
        raise metadata.PackageNotFoundError

    monkeypatch.setattr(metadata, "distribution", absent)
    with pytest.raises(KitError, match="rapidocr:rec is in the package rapidocr, which is not installed") as caught:
        rapidocr.path("rapidocr:rec")
    assert caught.value.hint == install_extra("weights")


def test_weights_with_an_unknown_digest_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, monkeypatch)
    file = tmp_path / rapidocr.FILES["rapidocr:det"][0]
    with pytest.raises(KitError, match=r"rapidocr 9\.9 has no rapidocr/models/PP-OCRv6_det_small\.onnx"):
        rapidocr.path("rapidocr:det")
    file.parent.mkdir(parents=True)
    file.write_bytes(b"other")
    with pytest.raises(KitError, match=r"has the SHA-256 d9298a10d1b07358.*; that of 3\.10\.0 has 090f04ab"):
        rapidocr.path("rapidocr:det")
