"""oneDNN is limited to AVX2 for plain convolutions, unless the user has set a limit."""

import platform
from pathlib import Path

import pytest

from hccl_kit.ocr.adapt import instruction_set
from hccl_kit.ocr.adapt.instruction_set import VARIABLE, has_bfloat16, limit, wide

WIDE = "processor\t: 0\nflags\t\t: fpu avx2 avx512f avx512dq avx512bw avx512vl\n"
NARROW = "processor\t: 0\nflags\t\t: fpu avx2 avx512f\n"


@pytest.fixture
def on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An x86 processor with AVX-512."""
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    monkeypatch.setattr(instruction_set, "CPU_INFO", tmp_path / "cpuinfo")
    (tmp_path / "cpuinfo").write_text(WIDE)


@pytest.mark.usefixtures("on")
def test_plain_convolutions_are_limited_to_avx2() -> None:
    environ: dict[str, str] = {}
    word = limit(environ)
    assert word is not None
    assert word.startswith("ONEDNN_MAX_CPU_ISA=AVX2: ")
    assert environ == {VARIABLE: "AVX2"}
    assert not wide(environ)


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize("cpuinfo", [NARROW, "", None])
def test_a_processor_without_avx_512_or_with_unknown_flags_is_limited_too(tmp_path: Path, cpuinfo: str | None) -> None:
    (tmp_path / "cpuinfo").unlink() if cpuinfo is None else (tmp_path / "cpuinfo").write_text(cpuinfo)
    environ: dict[str, str] = {}
    assert limit(environ) is not None
    assert environ == {VARIABLE: "AVX2"}


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize(("given", "is_wide"), [("avx2", False), ("AVX512_CORE", True), ("DEFAULT", True)])
def test_a_limit_set_by_the_user_is_kept(given: str, is_wide: bool) -> None:
    environ = {VARIABLE: given}
    assert limit(environ) is None
    assert environ == {VARIABLE: given}
    assert wide(environ) == is_wide


@pytest.mark.usefixtures("on")
def test_other_architectures_are_not_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "aarch64")
    environ: dict[str, str] = {}
    assert limit(environ) is None
    assert not wide(environ)
    assert environ == {}


@pytest.mark.usefixtures("on")
@pytest.mark.parametrize(("flag", "expected"), [("", False), ("avx512_bf16", True), ("amx_bf16", True)])
def test_detects_bfloat16_support(flag: str, expected: bool, tmp_path: Path) -> None:
    (tmp_path / "cpuinfo").write_text(f"{WIDE.rstrip()} {flag}\n")
    assert has_bfloat16() == expected
