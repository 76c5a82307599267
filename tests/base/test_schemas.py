import pytest

from hccl_kit.base.schemas import Mismatch, load, loads, mismatch


def test_the_first_mismatch_is_named_by_its_place_and_reason() -> None:
    document = {"version": 1, "devices": []}
    assert mismatch(document, "preflight_report") == Mismatch("", "'table' is a required property")
    rule = {"rule": "HK1", "reason": "x"}
    server = {"server": "", "machine": "", "ok": True, "error": None, "findings": [], "checked": [], "skipped": [rule]}
    found = mismatch({**server, "facts": {}, "variables": {}, "clock": 0}, "preflight_report", "server")
    assert found == Mismatch(
        "skipped/0/rule", f"'HK1' does not match '{load('preflight_report')['$defs']['rule']['pattern']}'"
    )
    assert mismatch("HK601", "preflight_report", "rule") is None


def test_a_reason_is_cut() -> None:
    found = mismatch({"version": "x" * 9999}, "watch")
    assert found is not None
    assert len(found.reason) <= 200


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NaN", "NaN is not a number of JSON"),
        ("[-Infinity]", "-Infinity is not a number of JSON"),
        ("[" * 100_000, "recursion"),
        (b"\xff", "decode"),
        ("{", "Expecting property name"),
    ],
)
def test_what_is_not_json_is_refused(text: str | bytes, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        loads(text)
