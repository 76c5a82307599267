"""Randomly damaged tables: wrong bytes, or JSON with wrong values."""

import copy
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from tests.places import TESTS
from tests.tables import text

SEEDS = [
    *(text(servers, cards).encode() for servers, cards in ((1, 1), (1, 8), (3, 2))),
    *(path.read_bytes() for path in sorted(TESTS.glob("check/rules/HK*/*.json*"))),
]
TWISTS = (
    *(b'"', b"{", b"}", b"[", b"]", b",", b":", b"-", b".", b"e9", b"\\", b"\\u", b"\\ud800", b"\\udc00", b"\x00"),
    *(b"\n", b"\r\n", b"\t", b"\x0b", b" ", b"\xef\xbb\xbf", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80"),
    *("服务器 \u2028\u00a0\u202e".encode(), b"NaN", b"-Infinity", b"null", b"true", b"[]", b"{}", b'""', b"1e999"),
    *(b"-1", b"0", b"1.0", b"65536", b"4294967296", b"9" * 5000, b"0." + b"1" * 5000, b"[" * 3000, b'{"a":' * 3000),
    *(b'"192.168.100.1"', b'" 10.0.0.1 "', b'"fd00::1"', b'"1.2"', b'"2.0"', b'"initializing"', b'"rank_id"'),
    *(b'"super_pod_list":[{}],', b'"group_list":[],', b'"rank_list":[{}],', b'"node_list":7,', b"// x", b"'"),
)

Numbers = tuple[int, int, int]
Damage = Callable[[bytes, Numbers], bytes]


def flip(data: bytes, at: Numbers) -> bytes:
    place = at[0] % max(1, len(data))
    return data[:place] + bytes([at[1] % 256]) + data[place + 1 :]


def cut(data: bytes, at: Numbers) -> bytes:
    start = at[0] % max(1, len(data))
    return data[:start] + data[start + at[1] % 40 :]


def shorten(data: bytes, at: Numbers) -> bytes:
    return data[: at[0] % max(1, len(data))]


def insert(data: bytes, at: Numbers) -> bytes:
    place = at[0] % max(1, len(data))
    return data[:place] + TWISTS[at[1] % len(TWISTS)] + data[place:]


def replace_number(data: bytes, at: Numbers) -> bytes:
    digits = [place for place in range(len(data)) if data[place : place + 1].isdigit()]
    if not digits:
        return data
    place = digits[at[0] % len(digits)]
    return data[:place] + TWISTS[at[1] % len(TWISTS)] + data[place + 1 :]


def replace_token(data: bytes, at: Numbers) -> bytes:
    """Replaces a string of the file, with its quotes, by a key, another string of the file, or a number."""
    parts = data.split(b'"')
    if len(parts) < 3:
        return data
    texts = range(1, len(parts), 2)
    to = TWISTS[at[2] % len(TWISTS)] if at[2] % 2 else b'"' + parts[texts[at[1] % len(texts)]] + b'"'
    which = texts[at[0] % len(texts)]
    return b'"'.join(parts[:which]) + to + b'"'.join(parts[which + 1 :])


def double(data: bytes, at: Numbers) -> bytes:
    start = at[0] % max(1, len(data))
    return data[:start] + data[start : start + at[1] % 300] * (1 + at[2] % 3) + data[start:]


def swap(data: bytes, at: Numbers) -> bytes:
    first, second = sorted((at[0] % max(1, len(data)), at[1] % max(1, len(data))))
    size = min(at[2] % 60, second - first)
    middle = data[first + size : second]
    return data[:first] + data[second : second + size] + middle + data[first : first + size] + data[second + size :]


def repeat_lines(data: bytes, at: Numbers) -> bytes:
    lines = data.split(b"\n")
    which = at[0] % len(lines)
    return b"\n".join([*lines[:which], *lines[which : which + 1 + at[1] % 8] * (1 + at[2] % 200), *lines[which:]])


def respell(data: bytes, at: Numbers) -> bytes:
    old, new = ((b"\n", b"\r\n"), (b"    ", b"\t"), (b"\n", b""), (b'"', b"'"), (b": ", b":"))[at[0] % 5]
    return data.replace(old, new)


DAMAGES: tuple[Damage, ...] = (
    *(flip, cut, shorten, insert, insert, replace_number, replace_token, replace_token, double, swap),
    *(repeat_lines, respell),
)


def damaged(seed: int, steps: Iterable[tuple[int, Numbers]]) -> bytes:
    """A text with some wrong bytes; most results are not valid JSON."""
    data = SEEDS[seed % len(SEEDS)]
    for which, at in steps:
        data = DAMAGES[which % len(DAMAGES)](data, at)[:300_000]
    return data


VALUES: tuple[Any, ...] = (
    *(
        None,
        True,
        -1,
        0,
        1,
        7,
        64,
        65536,
        2**40,
        1.0,
        1.5,
        "",
        " ",
        "0",
        "1",
        "8",
        "08",
        " 3",
        "-1",
        "x" * 200,
        "服务器",
    ),
    *("completed", "Complete", "initializing", "1.0", "1.1", "1.2", "2.0", "192.168.100.1", " 10.0.0.1", "fd00::1"),
    *("1.1.1.1,2.2.2.2", "127.0.0.1", "EID", "CLOS", "0/1", [], {}, [[]], [{}], {"a": 1}, ["0"], [1], "\x00", "\u2028"),
)


def broken(seed: int, steps: Iterable[tuple[int, Numbers]], style: int) -> bytes:
    """A JSON document with some wrong values, keys or items, in one of many formattings."""
    try:
        document = json.loads(SEEDS[seed % len(SEEDS)].decode("utf-8-sig"))
    except ValueError:
        document = {}
    for which, at in steps:
        holders = [*inside(document)]
        if holders:
            break_one(holders[at[0] % len(holders)], which, at)
    indent = (None, 0, 1, 4, "\t")[style % 5]
    written = json.dumps(document, indent=indent, ensure_ascii=style % 2 == 0)[:300_000]
    return ("\ufeff" * (style % 7 == 0) + written.replace("\n", "\r\n" if style % 3 else "\n")).encode()


def inside(value: Any) -> Iterator[Any]:
    """Every object and array."""
    if isinstance(value, (dict, list)):
        yield value
        for item in value.values() if isinstance(value, dict) else value:
            yield from inside(item)


def break_one(holder: Any, which: int, at: Numbers) -> None:
    if not holder:
        return
    keys = [*holder] if isinstance(holder, dict) else [*range(len(holder))]
    key, other = keys[at[1] % len(keys)], keys[at[2] % len(keys)]
    way = which % 6
    if way == 0:
        del holder[key]
    elif way == 1:
        holder[key] = copy.deepcopy(VALUES[at[2] % len(VALUES)])
    elif way == 2:
        holder[key], holder[other] = holder[other], holder[key]
    elif way == 3 and isinstance(holder, list):
        holder += [copy.deepcopy(holder[key]) for _ in range(1 + at[2] % 5)]
    elif way == 3:
        holder[key] = json.loads(json.dumps(holder[other]))
    elif way == 4 and isinstance(holder, dict):
        place = at[2] % (len(key) + 1)
        holder[key[:place] + "x_I"[at[2] % 3] + key[place + at[2] % 2 :]] = holder.pop(key)
    else:  # a string for a number, a number for a string
        value = holder[key]
        holder[key] = int(value) if isinstance(value, str) and value.isdecimal() else str(value)
