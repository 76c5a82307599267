"""Only pickles of plain values are read; nothing is executed, and memory is bounded."""

import os
import pickle
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.diagnosis.logs import plain_pickle
from hccl_kit.diagnosis.logs.plain_pickle import RefusedError, load

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 100), 1 << 100) | st.floats(allow_nan=False) | st.text(max_size=300),
    lambda inner: (
        st.lists(inner, max_size=6)
        | st.tuples(inner, inner)
        | st.lists(inner, max_size=5).map(tuple)
        | st.dictionaries(st.text(max_size=5), inner, max_size=6)
    ),
    max_leaves=40,
)


@given(PLAIN, st.integers(2, 5))
def test_plain_values_round_trip(value: Any, protocol: int) -> None:
    assert load(pickle.dumps(value, protocol)) == value


def test_a_value_that_is_referenced_twice_is_one_object() -> None:
    one = ["x"]
    found = load(pickle.dumps([one, one, [one] * 300], 2))
    assert found[0] is found[1] is found[2][299]


class Touch:
    """A pickle that writes a file when it is loaded."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_no_code_is_executed(tmp_path: Path, protocol: int) -> None:
    data = pickle.dumps({"entries": [Touch(tmp_path / "made")]}, protocol)
    with pytest.raises(RefusedError, match="more than plain values"):
        load(data)
    assert not (tmp_path / "made").exists()
    pickle.loads(data)  # the standard unpickler executes it
    assert (tmp_path / "made").exists()


@pytest.mark.parametrize("value", [os.system, Path("x"), {1, 2}, b"x", 1j, range(3), frozenset()], ids=str)
def test_other_types_are_refused(value: object) -> None:
    with pytest.raises(RefusedError, match="more than plain values"):
        load(pickle.dumps(value, 4))


HOSTILE = {
    "an index that asks for memory": (b"\x80\x02]r\xff\xff\xff\xff.", None),
    "a text longer than the file": (b"\x80\x02X\xff\xff\xff\xffab.", "ends in the middle"),
    "a text longer than any memory": (b"\x80\x04\x8d" + struct.pack("<Q", 1 << 62) + b"ab.", "ends in the middle"),
    "a large integer": (b"\x80\x02\x8a\xff" + bytes(255) + b".", "integer of 255 bytes"),
    "an empty stack": (b"\x80\x02.", "damaged"),
    "a value without a mark": (b"\x80\x02u.", "damaged"),
    "a memo that is not there": (b"\x80\x02h\x07.", "damaged"),
    "an item for a list": (b"\x80\x02]NNs.", "damaged"),
    "half an item": (b"\x80\x02}(Nu.", "damaged"),
    "a key that nests": (b"\x80\x02})\x85\x85Ns.", "key that is not a text"),
    "a key whose hash its writer chooses": (b"\x80\x02}K\x01Ns.", "key that is not a text"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_data_is_refused(name: str) -> None:
    data, why = HOSTILE[name]
    if why is None:
        assert load(data) == []
        return
    with pytest.raises(RefusedError, match=why):
        load(data)


@pytest.mark.parametrize("unit", [b"]", b"(", b"]\x94", b"\x94"], ids=str)
def test_too_many_values_are_refused_before_they_are_created(monkeypatch: pytest.MonkeyPatch, unit: bytes) -> None:
    monkeypatch.setattr(plain_pickle, "MAX_VALUES", 1000)
    monkeypatch.setattr(plain_pickle, "MAX_CONTAINERS", 800)
    with pytest.raises(RefusedError, match="it has more than"):
        load(b"\x80\x04]" + unit * 2000 + b".")


def test_recursive_and_deeply_nested_lists_do_not_crash() -> None:
    itself = load(b"\x80\x02]q\x00h\x00a.")
    assert itself[0] is itself
    deep = load(b"\x80\x02" + b"]" * 100_000 + b"a" * 99_999 + b".")
    assert len(deep) == 1


@given(PLAIN, st.data())
def test_damaged_pickles_are_refused_or_give_plain_values(value: Any, data: st.DataObject) -> None:
    whole = pickle.dumps(value, data.draw(st.integers(2, 5)))
    at = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(RefusedError):
        load(whole[:at])
    with suppress(RefusedError):
        load(whole[:at] + data.draw(st.binary(min_size=1, max_size=3)) + whole[at + 1 :])
