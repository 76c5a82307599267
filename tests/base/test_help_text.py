from collections.abc import Iterator

import pytest

from hccl_kit.base.help_text import in_language, texts_of, with_colons
from hccl_kit.base.translation import speak

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
