"""Colors of the programs: FORCE_COLOR and NO_COLOR apply to any stream."""

from pathlib import Path

import pytest

from tests.program import kit
from tests.tables import text

RED, GREEN, YELLOW, CYAN, BOLD, PLAIN = (f"\033[{code}m" for code in (31, 32, 33, 36, 1, 0))
BAD = text().replace('"rank_id": "1"', '"rank_id": "0"').replace('"server_count": "1"', '"server_count": 1')


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "good.json").write_text(text())
    (tmp_path / "two.json").write_text(text().replace("192.168.100.1", "192.168.100.2"))
    (tmp_path / "bad.json").write_text(BAD)
    (tmp_path / "out").mkdir()
    return tmp_path


EXPECTED = [
    (("check", "bad.json"), f"{RED}HK102 error:{PLAIN}"),
    (("check", "bad.json", "--diff"), f'{RED}-    "server_count": 1,{PLAIN}\n{GREEN}+    "server_count": "1",{PLAIN}'),
    (("diff", "good.json", "two.json"), f'{RED}"192.168.100.1"{PLAIN} -> {GREEN}"192.168.100.2"{PLAIN}'),
    (("rules",), f"{BOLD}HK001{PLAIN}  invalid-json                   {RED}error{PLAIN}"),
    (("explain", "HK203"), f"{BOLD}HK203{PLAIN} duplicate-device ({RED}error{PLAIN}): "),
    (("explain", "HK203"), f"{BOLD}Fix:{PLAIN} "),
    (("explain", "HK203", "--lang", "zh"), f"{BOLD}HK203{PLAIN} duplicate-device（{RED}错误{PLAIN}）："),
    (("explain", "HK203", "--lang", "zh"), f"{BOLD}解决方法：{PLAIN} "),
    (("rules", "--lang", "zh"), f"{BOLD}HK003{PLAIN}  byte-order-mark                {YELLOW}警告{PLAIN} "),
    (("show", "bad.json"), f"{RED}HK"),
    (("preflight", "good.json", "--product", "910"), f"{RED}HK600 error"),
    (("check", "none.json"), f"{RED}error{PLAIN}: cannot read none.json"),
    (("check", "--prodct"), f"hccl-check: {RED}error{PLAIN}: unrecognized"),
    (("chek",), f"{RED}error{PLAIN}: 'chek'"),
    (("gen", "--device_num", "[0,3)", "--simulate", "--output", "out"), f"{RED}error{PLAIN}: "),
    (("launch", "good.json", "--to", "bash", "-o", "/dev/null/out", "--", "true"), f"{RED}error{PLAIN}: "),
]


@pytest.mark.parametrize(("arguments", "expected"), EXPECTED, ids=lambda value: " ".join(value[:2]))
def test_force_color_and_no_color_are_obeyed(folder: Path, arguments: tuple[str, ...], expected: str) -> None:
    forced = kit(*arguments, cwd=folder, variables={"FORCE_COLOR": "1"})
    assert expected in forced.stdout + forced.stderr
    for variables in ({}, {"FORCE_COLOR": ""}, {"FORCE_COLOR": "1", "NO_COLOR": "1"}):
        done = kit(*arguments, cwd=folder, variables=variables)
        assert "\033" not in done.stdout + done.stderr


@pytest.mark.parametrize("arguments", [("check", "bad.json"), ("rules",), ("diff", "good.json", "two.json")])
def test_machine_readable_output_has_no_colors(folder: Path, arguments: tuple[str, ...]) -> None:
    assert "\033" not in kit(*arguments, "--format", "json", cwd=folder, variables={"FORCE_COLOR": "1"}).stdout


def test_escape_sequences_in_a_table_are_replaced(folder: Path) -> None:
    (folder / "two.json").write_text(text().replace("10.0.0.1", "\\u001b[2J"))
    done = kit("diff", "good.json", "two.json", cwd=folder, variables={"FORCE_COLOR": "1"})
    assert "\033[2J" not in done.stdout
    assert "\N{REPLACEMENT CHARACTER}[2J" in done.stdout
