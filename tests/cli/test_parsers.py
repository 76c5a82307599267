"""The parsers of all verbs."""

import sys

import pytest

from hccl_kit.cli.kit import VERBS
from hccl_kit.cli.parsers import parser_of


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_its_parser(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = parser_of(verb)
    assert parser.prog in (f"hccl-{verb}", f"hccl-kit {verb}")
    assert parser.description
    assert capsys.readouterr() == ("", "")


def test_a_verb_whose_packages_are_missing_has_no_options(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "json", None)
    monkeypatch.delitem(sys.modules, "hccl_kit.cli.diff", raising=False)
    parser = parser_of("diff")
    assert (parser.prog, parser.description) == ("hccl-kit diff", None)


def test_an_error_of_our_own_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hccl_kit.cli.diff", None)
    with pytest.raises(ModuleNotFoundError):
        parser_of("diff")
