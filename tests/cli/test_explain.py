"""hccl-kit explain as a user runs it: from an error text to the position and the fix, in one command."""

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest

from tests.program import kit
from tests.tables import text

COUNT = text(1, 2).replace('"server_count": "1"', '"server_count": "2"')
NEXT = "next: add FILE.json to this command to find it in a table;\n`hccl-check FILE.json` checks everything\n"


def explain(*arguments: str, cwd: Path, stdin: str = "", **variables: str) -> CompletedProcess[str]:
    return kit("explain", *arguments, cwd=cwd, stdin=stdin, variables=variables)


def test_an_error_text_and_a_table_give_the_finding_and_its_fix(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(COUNT)
    line = "EI0014 ... Value 2 for ranktable variable server_count is invalid"
    done = explain(line, "t.json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "EI0014: server_count of the table does not match its list of servers\n"
        "here:        HCCL found 2 for server_count\n"
        '             the table has "server_count": "2", but its server_list has another\n'
        "             number of servers\n"
        "it is:       a root error: its message states the cause\n"
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


def test_a_file_without_this_error_is_reported_with_its_other_findings(tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text(text(1, 2).replace('"rank_id": "1"', '"rank_id": "0"'))
    (tmp_path / "good.json").write_text(text())
    done = explain("HK207", "bad.json", "good.json", cwd=tmp_path)
    assert done.stdout.endswith(
        "\nbad.json: no such finding; hccl-check reports HK201\n\ngood.json: no such finding, nor any other finding\n"
    )


def test_standard_input_is_a_table(tmp_path: Path) -> None:
    assert "<stdin>:3:21: HK207 error" in explain("HK207", "-", cwd=tmp_path, stdin=COUNT).stdout


LOG = (
    "some program starts\n"
    "[ERROR] HCCL(7,x):2026-02-03-04:05:06.007.008 [8]wait socket establish timeout, role[1] rank[2] timeout[9]\n"
    "[ERROR] HCCL(7,x):2026-02-03-04:05:06.007.009 [a.cc:1] [8]call trace: hcclRet -> 9\n"
)


def test_the_most_informative_line_of_a_log_is_explained(tmp_path: Path) -> None:
    (tmp_path / "train.log").write_text(LOG)
    piped, named = explain("-", cwd=tmp_path, stdin=LOG), explain("train.log", cwd=tmp_path)
    assert (piped.returncode, piped.stderr) == (0, "")
    assert piped.stdout == named.stdout
    assert piped.stdout.startswith(
        "EI0006: this rank timed out waiting for a link to another card\nline:        2: [ERROR]"
    )
    assert "rank 2 is this process, and it waited 9 s" in piped.stdout


def test_several_sources_are_distinguished(tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_text(LOG)
    (tmp_path / "t.json").write_text(COUNT)
    done = explain("EI0014", "a.log", "b.log", "t.json", cwd=tmp_path)
    assert done.returncode == 0
    for part in ("EI0014: a value", "\na.log:\nEI0006", "\nb.log:\nEI0006", "\nt.json:3:21: HK207 error"):
        assert part in done.stdout


@pytest.mark.parametrize(
    ("stdin", "error"),
    [
        ("", "error: no line of <stdin> is recognised\n"),
        ("all is well\n", "error: no line of <stdin> is recognised\n"),
        ("\0\0", "error: <stdin> is not a log: it has NUL bytes\n"),
    ],
)
def test_a_log_without_a_known_line_is_exit_2(stdin: str, error: str, tmp_path: Path) -> None:
    done = explain("-", cwd=tmp_path, stdin=stdin)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(error)


def test_a_folder_is_refused_with_a_hint_to_diagnose(tmp_path: Path) -> None:
    done = explain(str(tmp_path), cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(f"error: {tmp_path} is a folder\n  fix: hccl-kit diagnose ")


@pytest.mark.parametrize(("mask", "server"), [("10.1.1.7", "10.1.1.7"), ("10.*.*.*", "10.0.0.0")])
def test_a_rank_table_in_the_line_is_checked(mask: str, server: str, tmp_path: Path) -> None:
    devices = [{"device_id": "1", "device_ip": f"192.168.100.10{rank}", "rank_id": str(rank)} for rank in range(2)]
    table = {"server_count": "1", "server_list": [{"device": devices, "server_id": mask}], "status": "completed"}
    line = "EI0004: The ranktable is invalid,Reason:[The ranktable config devId is inconsistent with the local devId.]"
    done = explain(f"{line}. [{json.dumps(table | {'version': '1.0'})}]", cwd=tmp_path)
    assert f'\nthe rank table in this line:\n  HK203: server "{server}" lists device 1 twice\n' in done.stdout
    broken = explain(f'{line} [{{"server_list": [{{', cwd=tmp_path)
    assert (broken.returncode, broken.stderr) == (0, "")
    assert "in this line:" not in broken.stdout


def test_the_output_is_as_wide_as_the_terminal(tmp_path: Path) -> None:
    for columns, widest in (("60", 60), ("100", 100), ("10", 40), ("999", 120)):
        done = explain("EI0006", cwd=tmp_path, COLUMNS=columns)
        prose = done.stdout.split("\n\n")[0].split("\n")
        assert widest - 15 < max(map(len, prose)) <= widest
        assert max(map(len, explain("EI0014", cwd=tmp_path, COLUMNS=columns).stdout.split("\n"))) <= max(widest, 60)


def test_the_product_option_selects_the_rules(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text(1, 3))
    assert "no such finding" in explain("HK401", "t.json", cwd=tmp_path).stdout
    assert "HK401 error" in explain("HK401", "t.json", "--product", "910", cwd=tmp_path).stdout


def test_an_error_without_a_table_rule_does_not_check_the_table(tmp_path: Path) -> None:
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
def test_an_unknown_text_is_exit_2(arguments: tuple[str, ...], error: str, tmp_path: Path) -> None:
    done = explain(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith(error)
    assert "Traceback" not in done.stderr


def test_control_characters_are_replaced(tmp_path: Path) -> None:
    done = explain("Value \x1b[2J服 for ranktable variable version is invalid", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "服 for version" in done.stdout
