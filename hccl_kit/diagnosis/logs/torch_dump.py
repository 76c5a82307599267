"""Read the dumps of torch's flight recorder: pickles of plain values, or JSON; also those of torch_npu.

Nothing that a pickle names is imported or called. It may still ask for any memory or time, or nest so deeply that the
interpreter crashes: `readers` has processes with limits for that. One list may stand at many places, or in itself, so
values become text only where they are known to be short.

The form is that of pytorch's FlightRecorder (versions 2.x of the dump) and of torch_npu's HCCLTraceBuffer: `entries`
with the collectives of a rank in a ring, `pg_config` with the ranks of each process group. The rank is the number at
the end of the file's name. Only the last MAX_KEPT entries are looked at, and no frame of a stack.
"""

from __future__ import annotations

import io
import json
import pickle
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NoReturn

from hccl_kit.diagnosis.errors.message import rank as rank_of
from hccl_kit.diagnosis.facts import Dumped, Noted, Traced

MAX_BYTES = 32 << 20
MAX_JSON = 16 << 20
"""Bytes; a value of JSON may take more memory than one of a pickle."""
MAX_KEPT = 300
"""Maximum number of collectives of a rank: those near the one where the job hangs are needed."""
MAX_RANKS = 8 << 20
"""Characters of the lists of ranks of all groups: a pickle may name one text many times."""
MAX_TEXT = 120
MAX_SIZES = 8
"""Sizes of a collective that are compared."""

HEADS = tuple(b"\x80" + bytes([protocol]) for protocol in range(2, 6))
"""How a pickle begins, of the protocols 2 to 5."""
NAME = re.compile(r"(?:[\w.-]{0,80}_)?(?:trace|rank)_(?:rank_)?[0-9]{1,8}(?:\.(?:json|pickle|pkl))?")
"""Names of dumps: hccl_trace_rank_3, comm_lib_trace_rank_3, nccl_trace_rank_3, torch_trace_rank_3.json, rank_3."""
_RANK = re.compile(r".*?(?<![0-9])([0-9]{1,8})(?:\.[a-z]{1,8})?", re.DOTALL)
_ALIKE = {
    "all_reduce",
    "allreduce",
    "allreduce_coalesced",
    "broadcast",
    "reduce",
    "_all_gather_base",
    "all_gather_into_tensor",
    "_reduce_scatter_base",
    "reduce_scatter_tensor",
}
"""Operators to which all ranks must give the same sizes."""


class RefusedError(ValueError):
    """A dump is cut, damaged, or has more than plain values; the text says which."""


class PlainUnpickler(pickle.Unpickler):
    """Makes numbers, texts, lists and the like; refuses all that a pickle would have to import."""

    def find_class(self, module: str, name: str) -> NoReturn:
        """Raises RefusedError."""
        raise RefusedError(f"it has more than plain values: {module}.{name}"[:MAX_TEXT])


def is_dump(name: str, first: bytes) -> bool:
    """Whether a file with this name and start is read as a dump; `read` may still refuse it."""
    return first.startswith(HEADS) or (first[:1] == b"{" and NAME.fullmatch(name) is not None)


def read(name: str, pieces: Iterable[bytes]) -> tuple[list[Noted], str | None]:
    """What a dump states, and why it cannot be read, or None. One that cannot be read states that it is there."""
    rank, data = _rank_of(name), b""
    try:
        data = _whole(pieces)
        if rank is None:
            raise RefusedError("its name does not end with a rank, such as trace_rank_3")
        return list(_facts(_object(data), rank)), None
    except RefusedError as error:
        return _unreadable(rank) if b"entries" in data else [], str(error)  # other programs write traces too


def unread(name: str) -> list[Noted]:
    """What a file states of which only the name is known: that a rank left a dump, if that is how dumps are named."""
    return _unreadable(_rank_of(name)) if NAME.fullmatch(name) else []


def _rank_of(name: str) -> int | None:
    match = _RANK.fullmatch(name)
    return rank_of(match[1]) if match else None


def _unreadable(rank: int | None) -> list[Noted]:
    return [] if rank is None else [Noted(1, Dumped(rank, None, is_cut=True), rank=rank)]


def _unpickled(data: bytes) -> object:
    try:
        return PlainUnpickler(io.BytesIO(data), encoding="utf-8", errors="replace").load()
    except RefusedError:
        raise
    except MemoryError:
        raise RefusedError("it takes too much memory") from None
    except EOFError:
        raise RefusedError("it ends in the middle") from None
    except pickle.UnpicklingError as error:
        is_cut = re.search("truncated|exhausted", str(error))
        raise RefusedError("it ends in the middle" if is_cut else "it is damaged") from None
    except Exception:  # damage may raise anything
        raise RefusedError("it is damaged") from None


def _whole(pieces: Iterable[bytes]) -> bytes:
    parts, size = [], 0
    for piece in pieces:
        size += len(piece)
        if size > MAX_BYTES:
            raise RefusedError(f"it has more than {MAX_BYTES >> 20} MiB")
        parts.append(piece)
    return b"".join(parts)


def _object(data: bytes) -> dict[str, Any]:
    if data.startswith(HEADS):
        value = _unpickled(data)
    elif len(data) > MAX_JSON:
        raise RefusedError(f"it has more than {MAX_JSON >> 20} MiB of JSON")
    else:
        try:
            value = json.loads(data)
        except (ValueError, RecursionError):
            raise RefusedError("it is not valid JSON: cut, or damaged") from None
        except MemoryError:
            raise RefusedError("it takes too much memory") from None
    if not isinstance(value, dict) or not isinstance(value.get("entries", []), list) or "version" not in value:
        raise RefusedError("it has no entries of a flight recorder")
    return value


def _facts(dump: dict[str, Any], rank: int) -> Iterator[Noted]:
    config = _groups(dump.get("pg_config"))
    entries = [entry for entry in dump.get("entries", [])[-MAX_KEPT:] if isinstance(entry, dict)]
    size = max((max(members) + 1 for members in config.values() if members), default=None)
    yield Noted(1, Dumped(rank, size, is_cut=_is_cut(dump)), rank=rank)
    for number, entry in enumerate(entries, 1):
        created = _integer(entry.get("time_created_ns"))
        traced = _traced(entry, rank, config)
        if traced is not None:
            yield Noted(number, traced, None if created is None else created / 1e9, rank=rank)


def _is_cut(dump: dict[str, Any]) -> bool:
    """Whether collectives of a dump are missing or cannot be read.

    `record_id` counts all entries of a rank, and `pg_status` has the last collective of each of its groups.
    """
    entries = dump.get("entries")
    if not isinstance(entries, list) or not all(_is_readable(entry) for entry in entries):
        return True
    numbers = [number for entry in entries if (number := _integer(entry.get("record_id"))) is not None]
    if any(after - before > 1 for before, after in pairwise(numbers)):
        return True
    last: dict[str, int] = {}
    for entry in entries:
        if entry.get("is_p2p") is not True:
            group = _id(entry.get("pg_id"))
            last[group] = max(last.get(group, 0), entry["collective_seq_id"])
    status = dump.get("pg_status")
    for group, state in status.items() if isinstance(status, dict) else ():
        enqueued = _integer(state.get("last_enqueued_collective")) if isinstance(state, dict) else None
        # Of a group without an entry, all may have left the ring.
        if enqueued and (enqueued > last.get(_id(group), enqueued) or not entries):
            return True
    return False


def _is_readable(entry: object) -> bool:
    if not isinstance(entry, dict):
        return False
    is_named = isinstance(entry.get("profiling_name"), str) and _integer(entry.get("collective_seq_id")) is not None
    return is_named or entry.get("is_p2p") is True


def _traced(entry: dict[str, Any], rank: int, config: dict[str, tuple[int, ...]]) -> Traced | None:
    named, sequence = entry.get("profiling_name"), _integer(entry.get("collective_seq_id"))
    group = entry.get("process_group")
    if not isinstance(named, str) or sequence is None or entry.get("is_p2p") is True:
        return None
    backend, _, operator = named[:MAX_TEXT].rpartition(":")
    name, title = (_text(group[0]), _text(group[1])) if isinstance(group, Sequence) and len(group) == 2 else ("", "")
    state = entry.get("state")
    # gloo never says "completed": what it has retired is done. Elsewhere that may be a timeout.
    is_done = state == "completed" or bool(_integer(entry.get("time_discovered_completed_ns")))
    left = is_done or (backend == "gloo" and entry.get("retired") is True)
    return Traced(
        rank,
        f"{backend}:{name}" + (f" ({title})" if title and title != "undefined" else ""),
        config.get(name) if name else None,
        sequence,
        operator,
        _shape(entry) if operator in _ALIKE else None,
        left,
    )


def _shape(entry: dict[str, Any]) -> str | None:
    """Types and sizes of what the rank gives, such as "Float [1024]"; None if one of them is not known."""
    types, sizes = entry.get("input_dtypes"), entry.get("input_sizes")
    if not isinstance(types, list | tuple) or not isinstance(sizes, list | tuple) or not 0 < len(sizes) == len(types):
        return None
    shown = []
    for kind, size in zip(types[:MAX_SIZES], sizes[:MAX_SIZES], strict=True):
        if (
            not isinstance(kind, str)
            or not _is_list(size)
            or any(_integer(length) is None for length in size[:MAX_SIZES])
        ):
            return None
        shown.append(f"{kind[:20]} {list(size[:MAX_SIZES])}")
    return ", ".join(shown)


def _groups(config: object) -> dict[str, tuple[int, ...]]:
    """The ranks of each process group; without those whose list is empty, and those after MAX_RANKS characters."""
    members: dict[str, tuple[int, ...]] = {}
    left = MAX_RANKS
    for name, group in config.items() if isinstance(config, dict) else ():
        ranks = group.get("ranks") if isinstance(group, dict) else None
        if isinstance(name, str) and isinstance(ranks, str):
            left -= len(ranks)
            if left < 0:
                return members
            numbers = tuple(int(digits) for digits in re.findall(r"[0-9]{1,7}", ranks))
            if numbers:
                members[name[:MAX_TEXT]] = numbers
    return members


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _text(value: object) -> str:
    return value[:MAX_TEXT] if isinstance(value, str) else ""


def _id(value: object) -> str:
    """A whole number or a text, as text. Nothing else becomes one: a small pickle may hold a list of endless text."""
    number = _integer(value)
    return _text(value) if number is None else str(number)


def _integer(value: object) -> int | None:
    is_whole = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 63
    return value if is_whole and isinstance(value, int) else None
