from collections.abc import Iterator
from functools import partial

import pytest

from hccl_kit.base.arguments import Parser
from hccl_kit.base.help_text import HelpFormatter, help_texts, in_language, texts_of, with_colons
from hccl_kit.base.terminal import text_width
from hccl_kit.base.translation import speak
from hccl_kit.cli.parsers import parser_of

WIDTH = 60
DESCRIPTION = """examples:
  hccl-kit completion zsh    # in ~/.zshrc, after compinit
  hccl-kit rules
  bash ascend4p.sh  one process

Exit codes: 0 printed; 2 could not run.
"""


@pytest.fixture
def chinese() -> Iterator[None]:
    speak("zh")
    yield
    speak("en")


def test_a_description_is_texts_and_the_commands_between_them() -> None:
    texts = ["examples:", "in ~/.zshrc, after compinit", "one process", "Exit codes: 0 printed; 2 could not run."]
    assert texts_of(DESCRIPTION) == texts
    assert texts_of("Without it:\n  python -u train.py\nelsewhere none.") == ["Without it:", "elsewhere none."]
    assert texts_of("") == []


def test_english_stays_as_it_is() -> None:
    assert in_language(DESCRIPTION) == DESCRIPTION
    assert with_colons("options:\n  -h\n") == "options:\n  -h\n"


@pytest.mark.usefixtures("chinese")
def test_texts_are_translated_and_commands_stay() -> None:
    assert in_language(DESCRIPTION).splitlines() == [
        "示例：",
        "  hccl-kit completion zsh    # 写入 ~/.zshrc，在 compinit 之后",
        "  hccl-kit rules",
        "  bash ascend4p.sh  一个进程",
        "",
        "退出码：0 已打印；2 无法运行",
    ]


def test_a_chinese_heading_has_a_chinese_colon() -> None:
    assert with_colons("选项:\n用于 slurm:\nrank table:\n  值:\n") == "选项：\n用于 slurm：\nrank table:\n  值:\n"


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
