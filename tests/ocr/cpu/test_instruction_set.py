"""oneDNN is limited to AVX2 for plain convolutions, unless the user has set a limit."""

import platform

import pytest

from hccl_kit.ocr.cpu.instruction_set import VARIABLE, limit


@pytest.mark.parametrize(
    ("machine", "given", "expected"),
    [("x86_64", {}, "AVX2"), ("x86_64", {VARIABLE: "avx"}, "avx"), ("aarch64", {}, None)],
)
def test_plain_convolutions_are_limited_to_avx2(
    machine: str, given: dict[str, str], expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    environ = dict(given)
    note = limit(environ)
    assert environ.get(VARIABLE) == expected
    assert (note is not None) == (given.get(VARIABLE) != expected)
