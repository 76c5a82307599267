import argparse
from collections.abc import Iterator, Sequence
from typing import NoReturn

import pytest

from hccl_kit.base.arguments import Parser, a_path, problem
from hccl_kit.base.message import Message
from hccl_kit.base.translation import speak


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
