"""The settings are found in every notation of TOML, and nothing else is mistaken for them."""

import os
from pathlib import Path

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.cli.settings import Settings, settings_for


@pytest.mark.parametrize(
    "text",
    [
        "[tool.hccl-kit]\nstrict = true",
        "[tool.hccl-kit] # ours\nstrict = true",
        '[ tool . "hccl-kit" ]\nstrict = true',
        "['tool'.'hccl-kit']\nstrict = true",
        "tool.hccl-kit.strict = true",
        "tool . hccl-kit = {strict = true}",
        "[tool]\nhccl-kit.strict = true",
        "[tool]\nhccl-kit = {strict = true}",
        '["tool"]\n"hccl-kit" = {strict = true}',
        "tool = {hccl-kit = {strict = true}}",
        "tool = {x = 1, hccl-kit.strict = true}",
    ],
)
def test_settings_in_every_notation_of_toml(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text + "\n", encoding="utf-8")
    assert settings_for(str(tmp_path / "t.json")) == Settings(strict=True)


@pytest.mark.parametrize(
    "text", ['[project]\nname = "hccl-kit"', "[tool.other]\nx = 'hccl-kit'", "[tool]\nx-hccl-kit = 1"]
)
def test_a_project_file_without_settings_is_skipped(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text + "\n", encoding="utf-8")
    assert settings_for(str(tmp_path / "t.json")) == Settings()


def test_the_nearest_file_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / ".hccl-kit.toml").write_text("strict = true\n", encoding="utf-8")
    (tmp_path / "a" / ".hccl-kit.toml").write_text('product = "910"\n', encoding="utf-8")
    monkeypatch.chdir(inner)
    for file in ("t.json", "-", "../t.json", "./t.json", str(tmp_path / "a" / "t.json"), "/t.json"):
        assert settings_for(file) == Settings(product="910"), file
    assert settings_for(str(tmp_path / "t.json")) == settings_for("../../t.json") == Settings(strict=True)


def test_the_file_of_site_rules_is_named_as_seen_from_the_settings(tmp_path: Path) -> None:
    (tmp_path / "inner").mkdir()
    (tmp_path / ".hccl-kit.toml").write_text('site-rules = "rules/site.yaml"\n', encoding="utf-8")
    assert settings_for(str(tmp_path / "inner" / "t.json")) == Settings(site_rules=str(tmp_path / "rules/site.yaml"))
    (tmp_path / "wrong").mkdir()
    (tmp_path / "wrong" / ".hccl-kit.toml").write_text("site-rules = []\n", encoding="utf-8")
    with pytest.raises(KitError, match=r"site-rules is '\[\]'; accepted: the name of a file"):
        settings_for(str(tmp_path / "wrong" / "t.json"))


def test_a_number_with_thousands_of_digits_is_an_error(tmp_path: Path) -> None:
    (tmp_path / ".hccl-kit.toml").write_text(f"strict = {'9' * 5000}\n", encoding="utf-8")
    with pytest.raises(KitError, match="is not valid TOML"):
        settings_for(str(tmp_path / "t.json"))


@pytest.mark.parametrize("target", ["folder", "pipe", "/dev/zero", "nowhere"])
def test_a_settings_path_that_is_not_a_file_is_an_error(tmp_path: Path, target: str) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / ".hccl-kit.toml").symlink_to(target)
    with pytest.raises(KitError, match=r"\.hccl-kit\.toml is not a file"):
        settings_for(str(tmp_path / "t.json"))


def test_finds_settings_for_a_table_in_a_very_deep_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".hccl-kit.toml").write_text("strict = true\n", encoding="utf-8")
    assert settings_for("/".join(["a"] * 1500) + "/t.json") == Settings(strict=True)
