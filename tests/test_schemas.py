"""The published schemas, as used by editors and check-jsonschema, on all shipped files."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hccl_kit.cli.settings import Settings
from hccl_kit.table.products import PRODUCT_NAMES
from tests.places import ROOT, shipped_configs

FOLDER = ROOT / "schemas"
SCHEMAS = sorted(FOLDER.glob("*.schema.json"))
PUBLISHED = "https://raw.githubusercontent.com/hccl-kit/hccl-kit/main/schemas/"
CONFIGS = shipped_configs()
TABLES = sorted({*ROOT.glob("scripts/*.json"), *ROOT.glob("tests/cli/tutorial/*.json")})
INVENTORY = """\
10.0.0.1:
  0: 192.168.100.101
  1: 192.168.101.101/24
10.0.0.2:
  super_pod: 0
  0: {ip: 192.168.100.102, sdid: 4194304}
"""


def check_jsonschema(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "check_jsonschema", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def test_every_schema_is_valid() -> None:
    done = check_jsonschema("--check-metaschema", *SCHEMAS)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name)
def test_the_id_of_a_schema_is_its_url(path: Path) -> None:
    assert json.loads(path.read_text(encoding="utf-8"))["$id"] == PUBLISHED + path.name


@pytest.mark.parametrize(
    ("stem", "files"),
    [("train_config", CONFIGS), ("rank_table_1.0", TABLES)],
    ids=["configurations", "tables"],
)
def test_shipped_files_are_valid(stem: str, files: list[Path]) -> None:
    assert len(files) > 1
    done = check_jsonschema("--schemafile", FOLDER / f"{stem}.schema.json", *files)
    assert done.returncode == 0, done.stdout + done.stderr


def test_an_inventory_is_valid(tmp_path: Path) -> None:
    (tmp_path / "inventory.yaml").write_text(INVENTORY)
    done = check_jsonschema("--schemafile", FOLDER / "inventory.schema.json", tmp_path / "inventory.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("__base__: a.yaml\nsytem: {}\n", "'sytem' was unexpected"),
        ("__base__: a.yaml\nsystem: {distribute: 1}\n", "1 is not of type 'boolean'"),
        ("__base__: []\n", "[] should be non-empty"),
        ("system: {distribute: true}\n", "'model' is a required property"),
    ],
)
def test_the_schema_reports_mistakes_in_a_configuration(text: str, found: str, tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    done = check_jsonschema("--schemafile", FOLDER / "train_config.schema.json", tmp_path / "mine.yaml")
    assert done.returncode == 1
    assert found in done.stdout


@pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)
def test_a_configuration_names_its_schema_to_the_editor(path: Path) -> None:
    first = path.read_text(encoding="utf-8").split("\n", 1)[0]
    match = re.fullmatch(r"# yaml-language-server: \$schema=(\S+)", first)
    assert match
    assert (path.parent / match[1]).resolve() == FOLDER / "train_config.schema.json"


def test_the_entries_for_schemastore_refer_to_published_schemas() -> None:
    entries = json.loads((FOLDER / "schemastore.json").read_text(encoding="utf-8"))["schemas"]
    addresses = {address for entry in entries for address in (entry["url"], *entry.get("versions", {}).values())}
    assert addresses <= {PUBLISHED + path.name for path in SCHEMAS}
    assert all(entry.keys() >= {"name", "description", "fileMatch", "url"} for entry in entries)


def test_the_settings_schema_has_all_products() -> None:
    schema = json.loads((FOLDER / "settings.schema.json").read_text(encoding="utf-8"))
    assert schema["properties"].keys() == {name.replace("_", "-") for name in Settings._fields}
    assert schema["properties"]["product"]["enum"] == [*PRODUCT_NAMES, "auto"]
