"""Code shared by the subcommands on tables: tables are checked when they are read and before they are written."""

import json
from pathlib import Path
from typing import Any

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.cli.tables import MAX_WARNINGS, read_any_table, read_table, valid_text
from hccl_kit.table.formats.server_list import from_value
from hccl_kit.table.products import find_product
from tests.tables import pods_value, value


def twice() -> dict[str, Any]:
    """A table in which two devices have rank 0."""
    document = value(1, 2)
    document["server_list"][0]["device"][1]["rank_id"] = "0"
    return document


def put(path: Path, document: Any) -> str:
    path.write_text(json.dumps(document))
    return str(path)


def test_a_valid_table_is_read(tmp_path: Path) -> None:
    file = put(tmp_path / "t.json", value(2, 2))
    assert read_table(file) == from_value(value(2, 2))
    assert read_any_table(file).world_size == 4


def test_names_the_first_error_and_the_program_that_reports_the_others(tmp_path: Path) -> None:
    file = put(tmp_path / "a b.json", twice())
    with pytest.raises(KitError, match=r"a b\.json:1:[0-9]+: HK201: ") as caught:
        read_table(file)
    assert caught.value.hint == f"hccl-check '{file}'"
    assert read_any_table(file).world_size == 2


@pytest.mark.parametrize("document", [[], {"version": "9"}, value() | {"status": "initializing"}])
def test_a_document_without_a_complete_table_is_an_error(document: Any, tmp_path: Path) -> None:
    file = put(tmp_path / "t.json", document)
    for read in (read_table, read_any_table):
        with pytest.raises(KitError, match="HK1"):
            read(file)


def test_a_table_with_a_warning_is_read(tmp_path: Path) -> None:
    assert read_table(put(tmp_path / "t.txt", value())) == from_value(value())


def test_an_invalid_table_is_not_written() -> None:
    with pytest.raises(KitError, match=r"HK201: .*, in the table to be written"):
        valid_text(from_value(twice()), "t.json")
    with pytest.raises(KitError, match="HK108: "):
        valid_text(from_value(value()), "t.json", find_product("a5"))


def test_the_number_of_reported_warnings_is_limited(capsys: pytest.CaptureFixture[str]) -> None:
    document = pods_value(1, 2, 16)
    for server in document["server_list"]:
        for device in server["device"]:
            device["backup_device_ip"] = "\x1bx"
    valid_text(from_value(document), "t.json")
    *lines, last, end = capsys.readouterr().err.split("\n")
    assert len(lines) == MAX_WARNINGS
    assert all(line.startswith("warning: HK314") and "\x1b" not in line for line in lines)
    assert (last, end) == (f"warning: {32 - MAX_WARNINGS} more; hccl-check reports all", "")
