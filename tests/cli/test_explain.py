"""hccl-kit explain as a user meets it: from an error text to the place and the fix, in one command."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.places import ROOT
from tests.tables import text

COUNT = text(1, 2).replace('"server_count": "1"', '"server_count": "2"')
NEXT = "next: add FILE.json to this command to find it in a table; `hccl-check FILE.json` checks everything\n"


def explain(*arguments: str, cwd: Path, stdin: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "hccl_kit.cli.explain", *arguments]
    environ = os.environ | {"PYTHONPATH": str(ROOT)} | variables
    return subprocess.run(
        command, cwd=cwd, input=stdin, capture_output=True, env=environ, check=False, timeout=60, encoding="utf-8"
    )


def test_from_the_text_of_an_error_to_the_fix_with_one_command(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(COUNT)
    line = "EI0014 ... Value 2 for ranktable variable server_count is invalid"
    done = explain(line, "t.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "EI0014: the table has another number of servers than it says\n"
        "here:        HCCL found 2 for server_count\n"
        '             the table has "server_count": "2", but its server_list has another\n'
        "             number of servers\n"
        "it is:       a root error: it says itself what is wrong\n"
        "when:        creation of the communicator, before any connection\n"
        "\n"
        "HK207 server-count-mismatch (error): `server_count` does not match the number of\n"
        "servers.\n"
        "\n"
        "What:           `server_count` differs from the length of `server_list`.\n"
        "Why it matters: HCCL compares the two.\n"
        'Example:        "server_count": "1" after a second server was added by hand.\n'
        "Fix:            add what is missing, or write the number of servers. `--fix`\n"
        "                writes it only if the list holds more than is counted: a list\n"
        "                that holds less may have been cut.\n"
        "HCCL:           EI0014, server_count, expected the length of the list (R8).\n"
        "\n"
        't.json:3:21: HK207 error: "server_count" is "2", but server_list holds 1\n'
        "  |\n"
        '3 |     "server_count": "2",\n'
        "  |                     ^^^\n"
        "   = HCCL would stop with EI0014 (server_count)\n"
        '   = fix: add what is missing; if nothing is missing, write "server_count": "1"\n'
        "t.json: 1 error\n"
    )


def test_a_text_needs_no_quotes(tmp_path: Path) -> None:
    line = "EI0014: Value 2 for ranktable variable server_count is invalid. Expected value: 1."
    quoted, bare = explain(line, cwd=tmp_path), explain(*line.split(), cwd=tmp_path)
    assert quoted.stdout == bare.stdout
    assert 'fix: write "server_count": "1"' in bare.stdout
    assert bare.stdout.endswith(NEXT)


def test_a_file_without_the_error_has_no_such_finding_and_is_not_praised(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(text(1, 2).replace('"rank_id": "1"', '"rank_id": "0"'))
    (tmp_path / "good.json").write_text(text())
    done = explain("HK207", "bad.json", "good.json", cwd=tmp_path)
    assert done.stdout.endswith(
        "\nbad.json: no such finding; hccl-check reports HK201\n\ngood.json: no such finding, nor any other finding\n"
    )


def test_standard_input_is_a_table(tmp_path: Path) -> None:
    assert "<stdin>:3:21: HK207 error" in explain("HK207", "-", cwd=tmp_path, stdin=COUNT).stdout


def test_the_product_decides(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text(1, 3))
    assert "no such finding" in explain("HK401", "t.json", cwd=tmp_path).stdout
    assert "HK401 error" in explain("HK401", "t.json", "--product", "910", cwd=tmp_path).stdout


def test_what_no_table_shows_looks_at_none(tmp_path: Path) -> None:
    done = explain("ranktable config devId[1],but local devId[3]", "t.json", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout.endswith("\nt.json: not checked, since no rule for tables reports this\n")
    assert NEXT not in explain("EI0006", cwd=tmp_path).stdout


def test_a_file_is_distinguished_from_a_text(tmp_path: Path) -> None:
    (tmp_path / "my table.txt").write_text(COUNT)
    assert "my table.txt:3:21: HK207" in explain("HK207", "my table.txt", cwd=tmp_path).stdout
    line = "EI0004 Failed to parse the ranktable file /x/t.json"
    assert "HK001" in explain(line, cwd=tmp_path).stdout
    assert explain("HK203", "x" * 10_000, cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("HK999",), "error: no rule, code or message matches 'HK999'\n  fix: pass a rule"),
        (("what is this",), "error: no rule, code or message matches 'what is this'\n"),
        (("t.json",), "error: nothing to explain: only files are given\n  fix: hccl-check t.json"),
        ((" ",), "error: nothing to explain"),
        (("HK203", "missing.json"), "error: cannot read missing.json: "),
        ((), "usage: "),
    ],
)
def test_what_cannot_be_explained_is_exit_2(arguments: tuple[str, ...], error: str, tmp_path: Path) -> None:
    done = explain(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(error)
    assert "Traceback" not in done.stderr


def test_a_pasted_text_reaches_no_terminal_raw_and_no_terminal_stops_it(tmp_path: Path) -> None:
    done = explain("Value \x1b[2J服 for ranktable variable version is invalid", cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "\\u670d for version" in done.stdout
