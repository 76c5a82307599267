"""Questions to npu-smi and hccn_tool: each is put once in a round, and who was silent is not asked again."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from hccl_kit.discovery import hccn_tool, may_be_file, npu_smi
from hccl_kit.discovery.driver_tool import TIMEOUT, NoAnswerError, query, query_each
from hccl_kit.preflight.node import CannotTellError, Node

NPU_SMI = "npu-smi"
HCCN_TOOL = "hccn_tool"
USUAL_PLACES: Mapping[str, Sequence[str]] = {
    NPU_SMI: npu_smi.USUAL_PLACES,
    HCCN_TOOL: (*hccn_tool.USUAL_PLACES, "/usr/bin/hccn_tool"),
}
NO_TOOL = "there is no {} here, see HK623"
_TIMEOUTS = {NPU_SMI: 20.0}  # its big table looks at every chip; several seconds on a busy server

_Answer = TypeVar("_Answer")


class Silence(NamedTuple):
    """The question (all words of the command) that a tool did not answer, and why."""

    command: tuple[str, ...]
    reason: NoAnswerError


_answers: dict[tuple[str, ...], str] = {}
_silent: dict[tuple[str, ...], Silence] = {}
"""By tool, or hccn_tool on one card: the driver may hang for one card alone."""


def forget() -> None:
    """Begin a new round: all is asked anew."""
    _answers.clear()
    _silent.clear()


def find(node: Node, name: str) -> str | None:
    """The path of a tool: on PATH of the node, else at one of its usual places, else None."""
    there = shutil.which(name, path=node.environ.get("PATH", ""))
    places = [node.root / place.lstrip("/") for place in USUAL_PLACES[name]]
    return there or next((str(place) for place in places if may_be_file(place)), None)


def put(tool: str, *words: str) -> str:
    """What a tool answers to `words`; NoAnswerError where it does not, now or before in this round."""
    key, subject = (tool, *words), _subject(tool, words)
    if key not in _answers:
        if subject in _silent:
            reason = _silent[subject].reason
            raise type(reason)(str(reason))
        try:
            _answers[key] = query(key, _TIMEOUTS.get(Path(tool).name, TIMEOUT))
        except NoAnswerError as reason:
            _silent[subject] = Silence(key, reason)
            raise
    return _answers[key]


def silences() -> Sequence[Silence]:
    """What was not answered in this round; after its first silence a tool, or a card, is asked no more."""
    return tuple(_silent.values())


def need(node: Node, name: str) -> str:
    """The path of a tool that has not been silent; CannotTellError otherwise."""
    tool = find(node, name)
    if tool is None:
        raise CannotTellError(NO_TOOL.format(name))
    if (tool,) in _silent:
        raise CannotTellError(f"{name}: {_silent[tool,].reason}")
    return tool


def smi(node: Node, *words: str) -> str:
    """What npu-smi answers; CannotTellError where it does not."""
    try:
        return put(need(node, NPU_SMI), *words)
    except NoAnswerError as reason:
        raise CannotTellError(f"{NPU_SMI}: {reason}") from None


def hccn(
    node: Node, ids: Sequence[int], read: Callable[[Callable[..., str]], _Answer]
) -> tuple[dict[int, _Answer], dict[int, str]]:
    """What `read` makes of the answers of hccn_tool by card, all cards at once, and why others have none.

    `read(put)` puts its questions with `put("-link", "-g")`, and raises NoAnswerError where the answer holds nothing.
    A card for which the tool is silent is in neither, since HK624, HK637 or HK638 tells of it. CannotTellError where no
    card gave an answer.
    """
    tool = need(node, HCCN_TOOL)

    def question(device_id: int) -> _Answer:
        return read(lambda *words: put(tool, "-i", str(device_id), *words))

    found, failures = query_each(ids, question)
    for device_id in ids:
        why = _silent.get((tool, "-i", str(device_id)))
        if why is not None:
            found.pop(device_id, None)
            failures[device_id] = str(why.reason)
    if failures and not found:
        raise CannotTellError(f"{HCCN_TOOL}: {next(iter(failures.values()))}")
    told = {device_id: why for device_id, why in failures.items() if (tool, "-i", str(device_id)) not in _silent}
    return found, told


def _subject(tool: str, words: Sequence[str]) -> tuple[str, ...]:
    return (tool, *words[:2]) if words[0] == "-i" else (tool,)
