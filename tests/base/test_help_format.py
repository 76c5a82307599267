from collections.abc import Iterator
from functools import partial

import pytest

from hccl_kit.base.arguments import Parser
from hccl_kit.base.help_format import HelpFormatter, help_texts
from hccl_kit.base.terminal import text_width
from hccl_kit.base.translation import speak
from hccl_kit.cli.parsers import parser_of

WIDTH = 60


@pytest.fixture
def chinese() -> Iterator[None]:
    speak("zh")
    yield
    speak("en")


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
