import io
import sys
from collections.abc import Iterator

import pytest

from hccl_kit.base.errors import KitError, ParseError
from hccl_kit.base.message import Message
from hccl_kit.base.translation import language_of, speak, translated
from hccl_kit.base.wording import clauses, counted, joined, listed


@pytest.fixture
def chinese() -> Iterator[None]:
    speak("zh")
    yield
    speak("en")


def test_the_locale_chooses_the_language() -> None:
    for environ, language in (
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.GB18030"}, "zh"),
        ({"LANG": "en_US.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_US.UTF-8"}, "en"),
        ({"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),  # empty is not set
        ({"LC_CTYPE": "zh_CN.UTF-8"}, "en"),
        ({}, "en"),
    ):
        assert language_of(environ) == language, environ


def test_messages_are_english_until_a_program_chooses() -> None:
    assert translated(Message("table.range-empty", "the device range is empty")) == "the device range is empty"


@pytest.mark.usefixtures("chinese")
def test_a_message_is_translated_with_the_messages_among_its_values() -> None:
    message = Message("HK102.type", "{key} is {value}; expected {expected}", key='"a"', value=3, expected=_A_STRING)
    assert translated(message) == '"a" 是3，应为字符串'
    assert message == '"a" is 3; expected a string'


@pytest.mark.usefixtures("chinese")
def test_what_the_catalogue_lacks_is_english() -> None:
    for text in (
        "a plain text",
        Message("no.such-id", "{n} things", n=2),
        Message("table.range-empty", "another English text than the one that was translated"),
    ):
        assert translated(text) == text


@pytest.mark.usefixtures("chinese")
def test_numbers_and_lists_are_translated() -> None:
    assert translated(clauses([counted(1, "server"), counted(8, "card")])) == "1 台服务器，8 张卡"
    assert translated(joined([1, 2, 4])) == "1、2、4"
    assert translated(joined([1, 2, 4], "or")) == "1、2 或 4"
    assert translated(listed("abcd", 2)) == "a、b，另有 2 个"


@pytest.mark.usefixtures("chinese")
def test_an_error_is_rendered_in_chinese_and_its_message_stays_english() -> None:
    error = KitError("base.larger", "{path} is larger than {limit} bytes", path="a", limit=9, hint="one\ntwo")
    assert error.render() == "错误：a 大于 9 字节\n  解决方法：one\n            two"
    assert str(error) == error.message == "a is larger than 9 bytes"


@pytest.mark.usefixtures("chinese")
def test_a_caret_counts_a_chinese_character_as_two_columns() -> None:
    error = ParseError("table.range-empty", "the device range is empty", source="卡[4", column=1)
    assert error.render().split("\n")[1:] == ["    卡[4", "      ^"]


def test_an_output_without_chinese_characters_gets_english(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(io.BytesIO(), encoding="ascii"))
    speak("zh")
    assert translated(_A_STRING) == "a string"
    monkeypatch.undo()
    speak("en")


_A_STRING = Message("HK102.expected-string", "a string")
