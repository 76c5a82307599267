"""A diagnosis that may be attached to a public issue: without addresses, hosts, users, private folders and secrets.

Ranks, cards, times, codes, ports, pids and the names of log files stay: they are what a reader works with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from hccl_kit.base.message import Message
from hccl_kit.diagnosis.facts import Place
from hccl_kit.diagnosis.masking import Masker
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, Suspect

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
    return _mapped(diagnosis, lambda text: _masked(text, mask.text), mask.path)


def _masked(text: str, mask: Callable[[str], str]) -> str:
    """The text with marks. A message stays one, in other languages too, if it has the same marks when made anew."""
    shown = mask(text)
    if not isinstance(text, Message):
        return shown
    values = {name: _masked(one, mask) if isinstance(one, str) else one for name, one in text.values.items()}
    message = Message(text.id, text.template, **values)
    return message if message == shown else shown


def _servers(diagnosis: Diagnosis) -> Iterator[str]:
    everybody = [*diagnosis.suspects, *diagnosis.silent, *(line.suspect for line in diagnosis.ranks)]
    everybody += [wait.suspect for wait in diagnosis.cascade]
    everybody += [wait.waits_for for wait in diagnosis.cascade if wait.waits_for]
    everybody += [diagnosis.first_fault.suspect] if diagnosis.first_fault else []
    yield from {one.server for one in everybody if one.server} | diagnosis.clock_offsets.keys()


def _files(diagnosis: Diagnosis) -> set[str]:
    places = [*diagnosis.evidence, *(place for line in diagnosis.ranks for _, _, place in line.moments)]
    return {place.file for place in places}


def _folders(diagnosis: Diagnosis) -> Iterator[str]:
    """Folders of the files that may be names of hosts or users; a plain word could be one of any sentence."""
    for file in _files(diagnosis):
        yield from (part for part in file.split("/")[:-1] if not _WORD.fullmatch(part))


def _mapped(diagnosis: Diagnosis, text: Callable[[str], str], path: Callable[[str], str]) -> Diagnosis:
    """The diagnosis with each of its texts and paths replaced."""

    def suspect(one: Suspect) -> Suspect:
        return one._replace(server=None if one.server is None else text(one.server))

    def place(one: Place) -> Place:
        return one._replace(file=path(one.file))

    def texts(ones: Iterable[str]) -> tuple[str, ...]:
        return tuple(map(text, ones))

    fault = diagnosis.first_fault
    return diagnosis._replace(
        first_fault=fault
        and fault._replace(
            suspect=suspect(fault.suspect), kind=text(fault.kind), place=fault.place and place(fault.place)
        ),
        suspects=tuple(map(suspect, diagnosis.suspects)),
        cascade=tuple(
            wait._replace(
                suspect=suspect(wait.suspect),
                waits_for=wait.waits_for and suspect(wait.waits_for),
                place=wait.place and place(wait.place),
            )
            for wait in diagnosis.cascade
        ),
        silent=tuple(map(suspect, diagnosis.silent)),
        clock_offsets={text(server): offset for server, offset in diagnosis.clock_offsets.items()},
        evidence=tuple(map(place, diagnosis.evidence)),
        reason=text(diagnosis.reason),
        fix=text(diagnosis.fix),
        supports=texts(diagnosis.supports),
        contradicts=texts(diagnosis.contradicts),
        ranks=tuple(
            line._replace(
                suspect=suspect(line.suspect),
                moments=tuple((time, text(phrase), place(where)) for time, phrase, where in line.moments),
            )
            for line in diagnosis.ranks
        ),
        notes=texts(diagnosis.notes),
    )
