import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.base.integer import environ_integer, parse_integer


def test_a_decimal_integer() -> None:
    assert parse_integer("RANK", "007") == 7
    assert environ_integer({"RANK": "3"}, "RANK", least=3) == 3


@pytest.mark.parametrize("text", ["", "-1", "+1", "1.0", " 1", "1e3", "٣", "9" * 11])
def test_other_texts_are_refused_with_the_variable(text: str) -> None:
    with pytest.raises(KitError, match=r"^RANK='.*' is not an integer >= 0$"):
        parse_integer("RANK", text)


def test_a_smaller_integer_is_refused() -> None:
    with pytest.raises(KitError, match="SIZE='0' is not an integer >= 1"):
        environ_integer({"SIZE": "0"}, "SIZE", least=1)
