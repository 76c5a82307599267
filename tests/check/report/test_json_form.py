"""The JSON report: its documented form, which its schema describes."""

import json
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hccl_kit.base.schemas import load
from hccl_kit.check.engine import check_text
from hccl_kit.check.report.json_form import as_json
from hccl_kit.table.products import find_product
from tests.places import TESTS
from tests.tables import text, value

BAD_TABLES = sorted(TESTS.glob("check/rules/HK*/bad.json*"))
SCHEMA = load("check_report")


def test_the_json_report_has_the_documented_form() -> None:
    bad = json.dumps(value(1, 2)).replace('"rank_id": "1"', '"rank_id": "0"')
    note = text(1, 1).replace("10.0.0.1", "127.0.0.1")
    written: Any = json.loads(as_json([check_text(bad, "服.json"), check_text(note, "n.json", find_product("a2"))]))
    assert written == {
        "version": 1,
        "results": [
            {
                "file": "服.json",
                "format": "1.0",
                "product": "auto",
                "ok": False,
                "hccl_error": "EI0014",
                "findings": [
                    {
                        "rule": "HK201",
                        "name": "duplicate-rank",
                        "severity": "error",
                        "pointer": "/server_list/0/device/1/rank_id",
                        "line": 1,
                        "column": bad.rindex('"0"') + 1,
                        "message": 'rank 0 is already taken by device 0 of server "10.0.0.1"',
                        "hint": "use rank 1, which no device has",
                        "hccl_error": "EI0014",
                    }
                ],
            },
            {
                "file": "n.json",
                "format": "1.0",
                "product": "a2",
                "ok": True,
                "hccl_error": None,
                "findings": [
                    {
                        "rule": "HK210",
                        "name": "loopback-only-server",
                        "severity": "note",
                        "pointer": "/server_list/0/server_id",
                        "line": 6,
                        "column": 26,
                        "message": 'server id "127.0.0.1" is a loopback address: good for one server,'
                        " not for merging with others",
                        "hint": None,
                        "hccl_error": None,
                    }
                ],
            },
        ],
    }


def test_every_report_follows_the_published_schema() -> None:
    for path in BAD_TABLES:
        data = path.read_bytes()
        reports = [check_text(data, path.name), check_text(data, "<stdin>", find_product("910"))]
        Draft202012Validator(SCHEMA).validate(json.loads(as_json(reports)))


def test_the_schema_is_valid_and_describes_every_field() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    result, finding = SCHEMA["$defs"]["result"], SCHEMA["$defs"]["finding"]
    for described in (result, finding):
        assert set(described["required"]) == set(described["properties"])
        assert all("description" in field for field in described["properties"].values())


@pytest.mark.parametrize(
    ("field", "wrong"),
    [("severity", "fatal"), ("line", 0), ("column", "1"), ("pointer", "server_list"), ("rule", "E1"), ("hint", 1)],
)
def test_the_schema_rejects_invalid_reports(field: str, wrong: Any) -> None:
    written = json.loads(as_json([check_text("[", "t.json")]))
    assert Draft202012Validator(SCHEMA).is_valid(written)
    written["results"][0]["findings"][0][field] = wrong
    assert not Draft202012Validator(SCHEMA).is_valid(written)


def test_a_long_list_is_not_truncated() -> None:
    table = value(1, 150)
    for device in table["server_list"][0]["device"]:
        device["device_id"] = "0"
    found = json.loads(as_json([check_text(json.dumps(table), "t.json")]))["results"][0]["findings"]
    assert len(found) == 149
