"""The parsers of all subcommands."""

import argparse
import re
import sys

import pytest

from hccl_kit.cli.kit import VERBS
from hccl_kit.cli.parsers import parser_of


@pytest.mark.parametrize("verb", VERBS)
def test_every_subcommand_has_a_parser(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = parser_of(verb)
    assert parser.prog in (f"hccl-{verb}", f"hccl-kit {verb}")
    assert parser.description
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("verb", VERBS)
def test_the_help_ends_with_the_exit_codes(verb: str) -> None:
    last = " ".join((parser_of(verb).epilog or "").rstrip().rpartition("\n\n")[2].split())
    assert re.fullmatch(r"Exit codes: 0 [^;]+(; [0-9]+ [^;]+)*; 2 [^;]+(; [0-9]+ [^;]+)*\.", last)


@pytest.mark.parametrize("verb", VERBS)
def test_an_option_accepts_hyphens_and_its_help_is_a_complete_phrase(verb: str) -> None:
    for action in parser_of(verb)._actions:
        if action.help != argparse.SUPPRESS:
            names = set(action.option_strings)
            assert {re.sub("(?<=[a-z])_", "-", name) for name in names} <= names
            assert not re.match("(of|for|as|between|default|it|them) |default:", action.help or "it ")


@pytest.mark.parametrize("verb", VERBS)
def test_output_has_one_name(verb: str) -> None:
    """`-o` is the output of every program, except where `-o KEY=VALUE` overrides a configuration."""
    overrides = {"-o", "--opt"}
    for action in parser_of(verb)._actions:
        names = set(action.option_strings)
        if "-o" in names and not overrides <= names:
            assert "--output" in names
        if "--output" in names:
            assert "-o" in names or any(overrides <= set(one.option_strings) for one in parser_of(verb)._actions)


def test_a_subcommand_whose_packages_are_missing_has_no_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "json", None)
    monkeypatch.delitem(sys.modules, "hccl_kit.cli.diff", raising=False)
    parser = parser_of("diff")
    assert (parser.prog, parser.description) == ("hccl-kit diff", None)


def test_an_import_error_of_the_kit_itself_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hccl_kit.cli.diff", None)
    with pytest.raises(ModuleNotFoundError):
        parser_of("diff")
