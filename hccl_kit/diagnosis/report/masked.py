"""A diagnosis that may be attached to a public issue: without addresses, host names, users and folders.

Ranks, cards, times, codes, ports, pids and the names of log files stay: they are what a reader works with.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from hccl_kit.diagnosis.logs.facts import Place
from hccl_kit.diagnosis.masking import without_addresses
from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis, Suspect

_KNOWN_PART = re.compile(
    r"(?i)\.{0,2}|~|ascend|debug|run|plog|logs?|hccl_logs|latest|process_log|tmp|var|home|root|mnt|data|opt|usr|etc|dev"
    r"|(?:device|rank|worker|attempt)[-_]?\d{0,6}"
)
"""Folders whose names say nothing about their owner."""
_KNOWN_FILE = re.compile(
    r"(?i)(?:plog|device|error|rank|worker|scheduler|sched|msrun|torchrun|slurm|log)?(?:[-_]?\d{1,20}){0,3}"
    r"(?:\.(?:log|json|txt|out|err|tar|gz|tgz|zip)){1,2}"
)
_ABSOLUTE = re.compile(r"(?<![\w/.])~?/[^\s:;,'\"()<>\[\]=]+")
_HOST = re.compile(
    r"[\w.-]{1,64}@[\w.-]{1,255}|(?<![\w.-])(?:[A-Za-z0-9-]{1,63}\.){1,8}(?:local|internal|lan|corp|svc|com|net|org|cn)\b"
)
"""Names of hosts by their form: a login, or a domain."""
_WORD = re.compile(r"[a-z]{1,20}", re.IGNORECASE)
_MARK = re.compile(r"<[a-z]+(?: \d+)?>")


def masked(diagnosis: Diagnosis, names: Iterable[str] = ()) -> Diagnosis:
    """The diagnosis with a mark for each private name; `names` are those of this machine and its user."""
    hide = _Mask([*names, *_servers(diagnosis), *_folders(diagnosis)], _files(diagnosis))
    return _mapped(diagnosis, hide.text, hide.path)


class _Mask:
    """Private words and the marks they have got; equal words have equal marks."""

    def __init__(self, private: Iterable[str], files: Iterable[str]) -> None:
        self._names: dict[str, str] = {}
        self._addresses: dict[str, str] = {}
        self._private = _any_of(word for word in private if len(word) > 1 and not _KNOWN_PART.fullmatch(word))
        self._files = _any_of(file for file in files if "/" in file)

    def text(self, text: str) -> str:
        """A sentence, or the name of a server."""
        for paths in (self._files, _ABSOLUTE):
            text = paths.sub(lambda match: self.path(match[0]), text)
        text = without_addresses(text, self._addresses)
        return _HOST.sub("<host>", self._private.sub(lambda match: self._mark(match[0]), text))

    def path(self, path: str) -> str:
        """A path: names of folders and files become marks, unless they are common to all systems."""
        *folders, name = path.split("/")
        return "/".join([*map(self._part, folders), name if _KNOWN_FILE.fullmatch(name) else self._part(name)])

    def _part(self, part: str) -> str:
        if _KNOWN_PART.fullmatch(part):
            return part
        address = without_addresses(part, self._addresses)
        return address if _MARK.fullmatch(address) else self._mark(part)

    def _mark(self, word: str) -> str:
        return self._names.setdefault(word, f"<name {len(self._names) + 1}>")


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    """Any of the words, whole; addresses are not among them, since those have marks of their own."""
    known = sorted({word for word in words if not _MARK.fullmatch(without_addresses(word, {}))}, key=len, reverse=True)
    return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, known))})(?!\w)" if known else "(?!)")


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
