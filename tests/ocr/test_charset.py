"""Characters and class numbers, and dictionary files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.base.errors import KitError
from hccl_kit.ocr.charset import ALPHANUMERIC, MAX_BYTES, Charset

DEFAULT = Charset.load(None, use_space_char=False)


def loaded(folder: Path, content: bytes, *, use_space_char: bool = False) -> Charset:
    path = folder / "dict.txt"
    path.write_bytes(content)
    return Charset.load(str(path), use_space_char=use_space_char)


def refusal(folder: Path, content: bytes) -> str:
    with pytest.raises(KitError) as caught:
        loaded(folder, content)
    return caught.value.message


def test_a_class_without_another_case_is_mapped_to_itself() -> None:
    assert Charset("aA1bıIß\u00e9É").other_case() == [1, 0, 2, 3, 4, 5, 6, 8, 7]
    assert Charset("").other_case() == []


def test_a_lower_case_letter_determines_the_case_if_both_cases_exist() -> None:
    assert Charset("aA1bé\u00c9").tells_case() == [True, False, False, False, True, False]


def test_the_default_is_the_blank_after_36_characters() -> None:
    assert DEFAULT.characters == ALPHANUMERIC
    assert DEFAULT.blank == 36
    assert DEFAULT.encode("0az", lower=True) == [0, 10, 35]


@given(st.text(ALPHANUMERIC))
def test_decode_reverses_encode(text: str) -> None:
    assert DEFAULT.decode(DEFAULT.encode(text, lower=True)) == text


@given(st.text())
def test_encode_keeps_the_characters_of_the_dictionary(text: str) -> None:
    assert DEFAULT.decode(DEFAULT.encode(text, lower=False)) == "".join(c for c in text if c in ALPHANUMERIC)


def test_encode_converts_to_lower_case_only_on_request() -> None:
    assert DEFAULT.encode("aB", lower=True) == [10, 11]
    assert DEFAULT.encode("aB", lower=False) == [10]


def test_a_dictionary_has_one_character_per_line(tmp_path: Path) -> None:
    assert loaded(tmp_path, "中\nb\n𝄞\n".encode()).characters == "中b𝄞"


def test_a_byte_order_mark_and_windows_line_ends_are_ignored(tmp_path: Path) -> None:
    assert loaded(tmp_path, b"\xef\xbb\xbfa\r\nb\r\n").characters == "ab"


def test_the_space_is_added_once(tmp_path: Path) -> None:
    assert loaded(tmp_path, b"a\nb", use_space_char=True).characters == "ab "
    assert loaded(tmp_path, b"a\n \nb", use_space_char=True).characters == "a b"
    assert loaded(tmp_path, b"a\nb").characters == "ab"


def test_a_duplicate_character_is_named(tmp_path: Path) -> None:
    assert refusal(tmp_path, b"a\nb\na\n").endswith("dict.txt lists 'a' twice")


def test_a_line_with_two_characters_is_named(tmp_path: Path) -> None:
    assert refusal(tmp_path, b"a\nbc\n") == f"{tmp_path / 'dict.txt'}:2: expected one character, found 'bc'"


def test_an_invalid_dictionary_is_refused(tmp_path: Path) -> None:
    assert "is not UTF-8: byte 2" in refusal(tmp_path, b"a\n\xff")
    assert f"is larger than {MAX_BYTES} bytes" in refusal(tmp_path, b"a" * (MAX_BYTES + 1))
    with pytest.raises(KitError, match=r"cannot read .*no\.txt: No such file"):
        Charset.load(str(tmp_path / "no.txt"), use_space_char=False)
