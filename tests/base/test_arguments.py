import argparse
from collections.abc import Iterator, Sequence
from functools import partial
from typing import NoReturn

import pytest

from hccl_kit.base.arguments import HelpFormatter, Parser, a_path, help_texts, problem
from hccl_kit.base.message import Message
from hccl_kit.base.terminal import text_width
from hccl_kit.base.translation import speak
from hccl_kit.cli.parsers import parser_of

WIDTH = 60


class _Raising(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise ValueError(message)


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--to", choices=["a", "b"])
    parser.add_argument("--count", type=int)
    parser.add_argument("--files", nargs="+")
    parser.add_argument("--path", type=a_path)
    parser.add_argument("--force", action="store_true")
    either = parser.add_mutually_exclusive_group(required=True)
    either.add_argument("--mpi", action="store_true")
    either.add_argument("--ssh", action="store_true")
    parser.add_argument("table")


CASES = {
    ("--mpi",): "base.arguments-missing",
    ("--mpi", "t", "u"): "base.arguments-unknown",
    ("t",): "base.argument-of-several",
    ("--mpi", "--ssh", "t"): "base.argument-conflict",
    ("--mpi", "--to", "c", "t"): "base.argument-choice",
    ("--mpi", "--count", "x", "t"): "base.argument-type",
    ("--mpi", "t", "--count"): "base.argument-value",
    ("--mpi", "t", "--files"): "base.argument-values",
    ("--mpi", "t", "--force=x"): "base.argument-no-value",
    ("--mpi", "t", "--path", ""): "base.argument-path",
}


@pytest.mark.parametrize("words", CASES)
def test_what_argparse_says_is_a_message_with_the_same_text(words: Sequence[str]) -> None:
    parser = _Raising()
    add_options(parser)
    with pytest.raises(ValueError, match=r".") as error:
        parser.parse_args(words)
    message = problem(str(error.value))
    assert isinstance(message, Message)
    assert message == str(error.value)
    inner = message.values.get("problem", message)
    assert isinstance(inner, Message)
    assert inner.id == CASES[tuple(words)]


def test_any_other_text_stays() -> None:
    assert problem("no such words") == "no such words"


@pytest.fixture
def chinese() -> Iterator[None]:
    speak("zh")
    yield
    speak("en")


@pytest.mark.usefixtures("chinese")
def test_programs_say_it_in_the_language_of_the_user(capsys: pytest.CaptureFixture[str]) -> None:
    parser = Parser(prog="x")
    add_options(parser)
    for words, answer in (
        (["--mpi", "--to", "c", "t"], "x: 错误：参数 --to：无效的取值 'c'"),
        (["--mpi", "t", "--fils", "a"], "x: 错误：无法识别的参数：--fils a；是否应为 --files？"),
        (["--mpi", "t", "--count=--"], "x: 错误：参数 --count：'--' 不是有效的值"),
        (["--mpi"], "x: 错误：缺少以下必选参数：table"),
    ):
        with pytest.raises(SystemExit) as stopped:
            parser.parse(["--lang", "zh", *words])
        assert stopped.value.code == 2
        assert answer in capsys.readouterr().err


def narrow(verb: str) -> str:
    parser = parser_of(verb)
    parser.formatter_class = partial(HelpFormatter, width=WIDTH)
    return parser.format_help()


@pytest.mark.usefixtures("chinese")
def test_chinese_lines_are_as_wide_as_english_ones() -> None:
    lines = narrow("explain").split("\n\n示例：")[0].splitlines()
    assert max(map(text_width, lines)) <= WIDTH
    assert sum(text_width(line) > WIDTH - 10 for line in lines) > 3


@pytest.mark.usefixtures("chinese")
def test_the_lines_of_the_usage_are_aligned() -> None:
    first, second = narrow("check").splitlines()[:2]
    assert first.startswith("用法： hccl-check [-h]")
    assert second.index("[") == text_width(first.partition("[")[0])


def test_the_texts_of_a_parser_are_what_its_help_says() -> None:
    parser = Parser(prog="x", doc="What it does.\n\nexamples:\n  x --count 2")
    parser.add_argument_group("the group", "its purpose").add_argument(
        "--count", help="how many (default: %(default)s)"
    )
    parser.add_argument("--hidden", help="==SUPPRESS==")
    texts = set(help_texts([parser]))
    assert {"What it does.", "examples:", "the group", "its purpose", "how many (default: %(default)s)"} <= texts
    assert not texts & {"==SUPPRESS==", "  x --count 2"}
