"""A diagnosis that may be attached to a public issue: without addresses, hosts, users, private folders and secrets.

Ranks, cards, times, codes, ports, pids and the names of log files stay: they are what a reader works with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from typing import Any

from hccl_kit.base.message import Message
from hccl_kit.diagnosis.facts import Place
from hccl_kit.diagnosis.masking import Masker
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis

_WORDS = ("certainty", "where", "blame", "code", "rule")
"""Fields whose texts are those of the kit, or of HCCL."""
_WORD = re.compile(r"[a-z]{1,20}", re.IGNORECASE)


def masked(diagnosis: Diagnosis, hosts: Iterable[str] = (), users: Iterable[str] = ()) -> Diagnosis:
    """The diagnosis with a mark for each private name; `hosts` and `users` are those of this machine."""
    mask = Masker([*hosts, *_servers(diagnosis)], users, names=_folders(diagnosis), files=_files(diagnosis))
    texts: list[str] = []

    def seen(text: str) -> str:
        texts.append(text)
        return text

    _mapped(diagnosis, seen, seen)
    mask.learn(texts)
    hidden: Diagnosis = _mapped(diagnosis, lambda text: _masked(text, mask.text), mask.path)
    return hidden


def _masked(text: str, mask: Callable[[str], str]) -> str:
    """The text with marks. A message stays one, in other languages too, if it has the same marks when made anew."""
    shown = mask(text)
    if not isinstance(text, Message):
        return shown
    values = {name: _masked(part, mask) if isinstance(part, str) else part for name, part in text.values.items()}
    message = Message(text.id, text.template, **values)
    return message if message == shown else shown


def _servers(diagnosis: Diagnosis) -> Iterator[str]:
    everybody = [*diagnosis.suspects, *diagnosis.silent, *(line.suspect for line in diagnosis.ranks)]
    everybody += [wait.suspect for wait in diagnosis.cascade]
    everybody += [wait.waits_for for wait in diagnosis.cascade if wait.waits_for]
    everybody += [diagnosis.first_fault.suspect] if diagnosis.first_fault else []
    yield from {suspect.server for suspect in everybody if suspect.server} | diagnosis.clock_offsets.keys()


def _files(diagnosis: Diagnosis) -> set[str]:
    places = [*diagnosis.evidence, *(place for line in diagnosis.ranks for _, _, place in line.moments)]
    return {place.file for place in places}


def _folders(diagnosis: Diagnosis) -> Iterator[str]:
    """Folders of the files that may be names of hosts or users; a plain word could be one of any sentence."""
    for file in _files(diagnosis):
        yield from (part for part in file.split("/")[:-1] if not _WORD.fullmatch(part))


def _mapped(value: Any, text: Callable[[str], str], path: Callable[[str], str]) -> Any:
    """A value of a diagnosis with each of its texts and paths replaced."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Place):
        return value._replace(file=path(value.file))
    if isinstance(value, Mapping):
        return {text(name): part for name, part in value.items()}
    if not isinstance(value, tuple):
        return value
    names = getattr(value, "_fields", ())
    parts = [part if name in _WORDS else _mapped(part, text, path) for name, part in zip_longest(names, value)]
    return type(value)(*parts) if names else tuple(parts)
