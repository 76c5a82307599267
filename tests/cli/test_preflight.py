"""hccl-kit preflight of one machine, as a user runs it."""

import json
import os
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from hccl_kit.base.schemas import load
from tests.places import ROOT
from tests.preflight.nodes import HERE, NOTHING, free_base, table_text
from tests.program import kit

HOST_SIDE = ("--select", "HK60,HK61", "--ignore", "HK605,HK613,HK614")
"""Selects rules that do not depend on this machine: its kernel settings, limits, disk and missing cards."""
FAMILIES = ("HCCL_", "ASCEND_", "RANK_", "DEVICE_ID", "MS_", "OMPI_", "PMIX_", "CM_", "MINDSPORE_")


def clean_environ() -> dict[str, str]:
    """The environment without the variables that preflight reads, and with ports that no other test uses."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(FAMILIES)}
    base = free_base(4)
    return environ | {"PYTHONPATH": str(ROOT), "HCCL_HOST_SOCKET_PORT_RANGE": f"{base}-{base + 3}"}


def preflight(
    *arguments: str, folder: Path, environ: Mapping[str, str] = NOTHING, stdin: str = ""
) -> subprocess.CompletedProcess[str]:
    return kit("preflight", *arguments, cwd=folder, environ={**clean_environ(), **environ}, stdin=stdin)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "t.json").write_text(table_text(2))
    return tmp_path


def test_a_machine_without_error_is_one_line(folder: Path) -> None:
    done = preflight("t.json", *HOST_SIDE, folder=folder)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    (line, *_) = done.stdout.splitlines()
    assert line.startswith(f"server {HERE} ({socket.gethostname()}): ")
    assert line.endswith(" checks passed")


def test_a_port_in_use_is_reported_with_code_and_process(folder: Path) -> None:
    with socket.socket() as server:
        server.bind((HERE, 0))
        server.listen()
        port = server.getsockname()[1]
        ports = {"HCCL_HOST_SOCKET_PORT_RANGE": f"{port}"}
        done = preflight("t.json", *HOST_SIDE, folder=folder, environ=ports)
        told = preflight("t.json", *HOST_SIDE, "--format", "json", folder=folder, environ=ports)
    assert done.returncode == told.returncode == 1
    assert f"HK604 error: port {port} of {HERE} is taken by " in done.stdout
    assert f"(process {os.getpid()}" in done.stdout
    assert ")\n   = HCCL would stop with EI0019\n   = fix: end it, " in done.stdout
    document = json.loads(told.stdout)
    Draft202012Validator(load("preflight_report")).validate(document)
    (found,) = document["servers"][0]["findings"]
    assert (found["rule"], found["hccl_error"], document["ok"]) == ("HK604", "EI0019", False)
    assert document["servers"][0]["variables"] == ports


def test_an_invalid_table_is_reported_before_any_machine_check(folder: Path) -> None:
    (folder / "bad.json").write_text(table_text(2).replace('"rank_id": "1"', '"rank_id": "0"'))
    done = preflight("bad.json", folder=folder)
    assert done.returncode == 1
    assert "bad.json:16:32: HK201 error" in done.stdout
    assert done.stderr == "fix the table first; no machine was checked\n"
    told = preflight("bad.json", "--format", "json", folder=folder)
    document = json.loads(told.stdout)
    Draft202012Validator(load("preflight_report")).validate(document)
    assert (told.returncode, document["servers"], document["ok"]) == (1, [], False)
    assert [found["rule"] for found in document["table"]["findings"]] == ["HK201"]


def test_derives_the_product_like_hccl_check(folder: Path) -> None:
    (folder / "three.json").write_text(table_text(1, 3))
    assert preflight("three.json", *HOST_SIDE, folder=folder).returncode == 0
    done = preflight("three.json", *HOST_SIDE, "--product", "910", folder=folder)
    assert (done.returncode, "HK401 error" in done.stdout) == (1, True)
    done = preflight("three.json", *HOST_SIDE, "--ignore", "HK4", "--product", "910", folder=folder)
    assert done.returncode == 0


@pytest.mark.parametrize(
    ("selection", "fix"),
    [
        (("--select", "HK1"), "hccl-check --select checks a table"),
        (("--select", "HK617"), "HK617 compares servers: add --all"),
        (("--select", "HK60", "--ignore", "HK6"), "no rule is left to check"),
        (("--ignore", "HK6"), "hccl-check --select checks a table"),
    ],
)
def test_a_selection_that_matches_no_check_is_an_error(folder: Path, selection: tuple[str, ...], fix: str) -> None:
    done = preflight("t.json", *selection, folder=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert fix in done.stderr


def test_strict_turns_warnings_into_errors(folder: Path) -> None:
    left_over = {"MS_ROLE": "MS_WORKER"}
    done = preflight("t.json", *HOST_SIDE, folder=folder, environ=left_over)
    assert (done.returncode, "HK608 warning: MS_ROLE of another launcher is set" in done.stdout) == (0, True)
    done = preflight("t.json", *HOST_SIDE, "--strict", folder=folder, environ=left_over)
    assert (done.returncode, "HK608 error" in done.stdout) == (1, True)
    done = preflight("t.json", *HOST_SIDE, "--ignore", "HK608", "--strict", folder=folder, environ=left_over)
    assert (done.returncode, "HK608" in done.stdout) == (0, False)


def test_quiet_prints_errors_only(folder: Path) -> None:
    warning = {"MS_ROLE": "MS_WORKER"}
    warning |= {"HCCL_OP_EXPANSION_MODE": "NEW", "HCCL_RDMA_TIMEOUT": "31"}  # what a newer release may accept
    both = {**warning, "HCCL_INTRA_PCIE_ENABLE": "1", "HCCL_INTRA_ROCE_ENABLE": "1"}
    done = preflight("t.json", *HOST_SIDE, "--quiet", folder=folder, environ=warning)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    done = preflight("t.json", *HOST_SIDE, "--quiet", folder=folder, environ=both)
    assert done.returncode == 1
    assert "HK607 error" in done.stdout
    assert "HK608" not in done.stdout
    loud = preflight("t.json", *HOST_SIDE, folder=folder, environ=both)
    assert loud.stdout.splitlines()[-1].rpartition(", ")[2] == done.stdout.splitlines()[-1].rpartition(", ")[2]


def test_unselected_rules_are_counted_neither_as_passed_nor_as_skipped(folder: Path) -> None:
    left_over = {"MS_ROLE": "MS_WORKER"}
    done = preflight("t.json", "--select", "HK607,HK608", folder=folder, environ=left_over)
    assert done.stdout.splitlines()[-1].endswith(": 1 warning, 1 check passed")
    done = preflight("t.json", "--select", "HK607,HK608", "--ignore", "HK608", folder=folder, environ=left_over)
    (line,) = done.stdout.splitlines()
    assert line.endswith(": 1 check passed")
    done = preflight("t.json", "--select", "HK607", "--format", "json", folder=folder, environ=left_over)
    (server,) = json.loads(done.stdout)["servers"]
    assert (server["findings"], server["checked"], server["skipped"]) == ([], ["HK607"], [])


def test_the_server_can_be_given(folder: Path) -> None:
    (folder / "t.json").write_text(table_text(2, first="left"))
    done = preflight("t.json", *HOST_SIDE, folder=folder)
    assert (done.returncode, "HK600 error" in done.stdout) == (1, True)
    assert "not checked: HK611" in done.stdout
    for given in (("--server", "left"), ()):
        environ = {} if given else {"HCCL_KIT_SERVER": "left"}
        done = preflight("t.json", *HOST_SIDE, *given, folder=folder, environ=environ)
        assert (done.returncode, "server left (" in done.stdout) == (0, True)


def test_a_table_from_standard_input_needs_its_path_for_file_checks(folder: Path) -> None:
    text = (folder / "t.json").read_text()
    done = preflight("-", *HOST_SIDE, folder=folder, stdin=text)
    assert done.returncode == 0
    assert "not checked: HK601 to HK602 (the table came over standard input" in done.stdout
    (folder / "a.json.d").mkdir()
    (folder / "a.json.d" / "t.json").write_text(text)
    done = preflight("-", *HOST_SIDE, "--path", "a.json.d/t.json", folder=folder, stdin=text)
    assert (done.returncode, "HK601 error" in done.stdout) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("none.json",), "error: cannot read none.json: No such file or directory"),
        (("t.json", "--server", "x"), 'error: the table has no server "x"'),
        (("t.json", "--select", "HK9"), "error: no rule is named 'HK9'; accepted: an id, its beginning or a name"),
        (("t.json", "--all", "--timeout", "nan"), "error: --timeout must be greater than 0 seconds, got nan"),
        (
            ("t.json", "--all", "--python", "a b"),
            "error: --python a b; accepted: the path of Python on the other servers",
        ),
        (("t.json", "--python", "python3"), "error: --ssh-option and --python need --all"),
        (("t.json", "--all", "--mpi"), "usage: "),
        ((), "usage: "),
    ],
)
def test_an_error_is_exit_2(folder: Path, arguments: tuple[str, ...], error: str) -> None:
    done = preflight(*arguments, folder=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(error)
    assert "Traceback" not in done.stderr


def test_explain_of_a_code_names_the_rule_and_preflight(folder: Path) -> None:
    done = kit("explain", "EI0019", "t.json", cwd=folder, environ=clean_environ())
    assert "HK604  host-port-in-use  -  A port of the host that HCCL needs is taken" in done.stdout
    assert "t.json: not checked, since no rule for tables reports this" in done.stdout
    assert " ".join(done.stdout.split()).endswith(
        "next: `hccl-kit preflight FILE.json` checks this machine for it, with --all every server"
    )


def test_the_site_rules_are_found_by_the_settings_and_their_findings_are_in_the_json_form(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.hccl-kit]\nsite-rules = "rules/site.yaml"\n')
    (folder / "rules").mkdir()
    rules = folder / "rules" / "site.yaml"
    rules.write_text("a2:\n  error:\n    cards: {count: 8}\n  warning:\n    versions: {cann: [8.3.RC1, 8.3.RC2]}\n")
    done = preflight("t.json", "--product", "a2", "--select", "HK672", "--format", "json", folder=folder)
    document = json.loads(done.stdout)
    Draft202012Validator(load("preflight_report")).validate(document)
    assert [(found["severity"], found["message"].partition(" is ")[0]) for found in _findings(document)] == [
        ("error", "cards: count"),
        ("warning", "versions: cann"),
    ]
    assert (done.returncode, document["servers"][0]["checked"]) == (1, ["HK672"])
    rules.write_text("a2: {error: {card: {count: 8}}}\n")
    done = preflight("t.json", folder=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"error: {rules}:1:14: 'card' is not a valid key here; accepted: cards, versions" in done.stderr


def test_a_missing_file_of_site_rules_is_named_with_its_setting(folder: Path) -> None:
    (folder / ".hccl-kit.toml").write_text('site-rules = "site.yaml"\n')
    done = preflight("t.json", folder=folder)
    assert (done.returncode, done.stdout) == (2, "")
    error, fix = done.stderr.splitlines()
    assert error == f"error: cannot read {folder / 'site.yaml'}: No such file or directory"
    assert fix == "  fix: write the file, or correct site-rules in .hccl-kit.toml or pyproject.toml, which names it"


def test_the_rule_of_the_site_alone_needs_its_file(folder: Path) -> None:
    done = preflight("t.json", "--select", "HK672", folder=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert 'fix: HK672 needs a file of site rules: site-rules = "FILE" in .hccl-kit.toml' in done.stderr


def _findings(document: dict[str, Any]) -> list[dict[str, Any]]:
    (server,) = document["servers"]
    found: list[dict[str, Any]] = server["findings"]
    return found
