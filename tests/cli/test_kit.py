"""hccl-kit as a user runs it: a single entry point that imports only the requested subcommand."""

import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hccl_kit import __version__
from hccl_kit.cli.kit import GROUPS, VERBS, main, module_of
from hccl_kit.launch.emitters import LAUNCHERS
from tests.places import ROOT
from tests.program import kit
from tests.tables import text


def test_help_lists_every_subcommand_in_its_group(tmp_path: Path) -> None:
    for option in ("--help", "-h", "help"):
        done = kit(option, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")
        _usage, *groups, examples, _more = done.stdout.split("\n\n")
        launchers = groups.pop(list(GROUPS).index("starting") + 1)
        assert launchers.startswith("launchers, for hccl-kit launch TABLE --to LAUNCHER:\n")
        assert [name for name in LAUNCHERS if re.search(rf"  .*\b{name}\b", launchers)] == list(LAUNCHERS)
        listed = [line.split()[0] for group in groups for line in group.split("\n")[1:]]
        assert listed == list(VERBS)
        assert [group.split("\n")[0].removesuffix(":") for group in groups] == list(GROUPS)
        assert examples.startswith("examples:\n  hccl-kit gen ")
        assert max(map(len, done.stdout.split("\n"))) <= 100


def test_every_verb_has_a_version_and_a_help_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in VERBS:
        program = importlib.import_module(module_of(verb)).main
        for option in ("--version", "--help"):
            with pytest.raises(SystemExit) as end:
                program([option])
            assert end.value.code == 0
        first, rest = capsys.readouterr().out.split("\n", 1)
        assert first in (f"hccl-kit {verb} {__version__}", f"hccl-{verb} {__version__}")
        assert "examples:\n  " in rest, verb
        assert max(map(len, rest.split("\n"))) <= 100, verb


def test_no_arguments_print_the_usage_and_are_exit_2(tmp_path: Path) -> None:
    done = kit(cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == kit("--help", cwd=tmp_path).stdout


def test_the_version_is_reported(tmp_path: Path) -> None:
    assert kit("--version", cwd=tmp_path).stdout.startswith("hccl-kit ")


@pytest.mark.parametrize(("verb", "nearest"), [("chek", "check"), ("explian", "explain"), ("Merge", "merge")])
def test_a_misspelled_subcommand_gets_a_suggestion(verb: str, nearest: str, tmp_path: Path) -> None:
    done = kit(verb, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.split("\n")[1] == f"  fix: did you mean hccl-kit {nearest}?"


def test_control_characters_of_an_unknown_subcommand_are_replaced(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["\x1b[2J" * 100]) == 2
    error = capsys.readouterr().err
    assert "\x1b" not in error
    assert "hccl-kit --help lists them" in error


def test_the_package_is_executable_with_python_m(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "hccl_kit", "--version"]
    done = subprocess.run(argv, capture_output=True, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True, text=True)
    assert done.stdout == kit("--version", cwd=tmp_path).stdout


def test_a_subcommand_gets_the_other_arguments_and_sets_the_exit_code(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_text(text())
    (tmp_path / "bad.json").write_text(text().replace('"rank_id": "1"', '"rank_id": "0"'))
    good = kit("check", "good.json", "--product", "910", cwd=tmp_path)
    assert (good.returncode, good.stdout) == (0, "good.json: ok, version 1.0, 1 server, 8 devices, product 910\n")
    assert kit("check", "bad.json", cwd=tmp_path).returncode == 1
    assert kit("check", "none.json", cwd=tmp_path).returncode == 2


def test_only_the_requested_subcommand_is_imported(tmp_path: Path) -> None:
    code = (
        "import sys; from hccl_kit.cli.kit import main; main(['--help']);"
        "loaded = [name for name in sys.modules if name == 'argparse' or name.startswith('hccl_kit.cli.')];"
        "print(loaded, file=sys.stderr)"
    )
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environ, check=True, text=True)
    assert done.stderr == "['hccl_kit.cli.kit']\n"


def test_the_entry_point_is_declared_in_pyproject() -> None:
    scripts = (ROOT / "pyproject.toml").read_text(encoding="utf-8").split("[project.scripts]")[1].split("[")[0]
    assert 'hccl-kit = "hccl_kit.cli.kit:main"' in scripts


@pytest.mark.parametrize("argument", ["--help", "--version"])
def test_a_full_disk_is_one_line(argument: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hccl_kit.cli.kit", argument]
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        done = subprocess.run(
            command, cwd=tmp_path, stdout=full, stderr=subprocess.PIPE, env=environ, check=False, timeout=300, text=True
        )
    assert (done.returncode, done.stderr) == (2, "error: standard output: No space left on device\n")
