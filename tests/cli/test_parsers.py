"""The parsers of all subcommands."""

import argparse
import re
import sys

import pytest

from hccl_kit.base.arguments import Parser
from hccl_kit.cli.kit import VERBS
from hccl_kit.cli.parsers import actions, parser_of


def test_every_verb_has_a_parser_whose_help_ends_with_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    for verb in VERBS:
        parser = parser_of(verb)
        assert parser.prog in (f"hccl-{verb}", f"hccl-kit {verb}")
        assert parser.description, verb
        last = " ".join((parser.epilog or "").rstrip().rpartition("\n\n")[2].split())
        assert re.fullmatch(r"Exit codes: 0 [^;]+(; [0-9]+ [^;]+)*; 2 [^;]+(; [0-9]+ [^;]+)*\.", last), verb
    assert capsys.readouterr() == ("", "")


def test_help_of_an_option_is_a_complete_phrase() -> None:
    for verb in VERBS:
        for action in actions(parser_of(verb)):
            if action.help != argparse.SUPPRESS:
                assert not re.match("(of|for|as|between|default|it|them) |default:", action.help or "it "), verb


def test_in_names_of_options_hyphens_and_underscores_are_the_same() -> None:
    parser = Parser(prog="x")
    parser.add_argument("--log-dir")
    parser.add_argument("--device_num")
    parser.add_argument("words", nargs="*")
    for words in (["--log_dir", "a_b", "--device-num=c_d"], ["--log-dir=a_b", "--device_num", "c_d"]):
        given = parser.parse([*words, "--", "--log_dir"])
        assert (given.log_dir, given.device_num, given.words) == ("a_b", "c_d", ["--log_dir"])
    for verb in VERBS:  # so each is listed once
        names = [name for action in actions(parser_of(verb)) for name in action.option_strings]
        assert len({name.replace("_", "-") for name in names}) == len(names), verb


def test_a_missing_argument_is_named_with_its_help(capsys: pytest.CaptureFixture[str]) -> None:
    parser = Parser(prog="x")
    parser.add_argument("table", metavar="TABLE", help="the rank table")
    parser.add_argument("--to", choices=("1.0", "2.0"), required=True, help="the version to write")
    parser.add_argument("--force", action="store_true", help="overwrite")
    with pytest.raises(SystemExit):
        parser.parse([])
    assert capsys.readouterr().err.endswith(
        "required: TABLE, --to\n  TABLE: the rank table\n  --to {1.0,2.0}: the version to write\n"
    )


def test_output_has_one_name() -> None:
    """`-o` is the output of every program, except where `-o KEY=VALUE` overrides a configuration."""
    for verb in VERBS:
        options = [set(action.option_strings) for action in actions(parser_of(verb))]
        overrides = any({"-o", "--opt"} <= names for names in options)
        for names in options:
            assert ("-o" in names and "--opt" not in names) == ("--output" in names and not overrides), (verb, names)


def test_a_subcommand_whose_packages_are_missing_has_no_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "json", None)
    monkeypatch.delitem(sys.modules, "hccl_kit.cli.diff", raising=False)
    parser = parser_of("diff")
    assert (parser.prog, parser.description) == ("hccl-kit diff", None)


def test_an_import_error_of_the_kit_itself_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hccl_kit.cli.diff", None)
    with pytest.raises(ModuleNotFoundError):
        parser_of("diff")
