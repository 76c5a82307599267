"""The tools of the driver, npu-smi and hccn_tool: where they are on a node, and what they answer there."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from hccl_kit.discovery import hccn_tool, may_be_file, npu_smi
from hccl_kit.discovery.driver_tool import NoAnswerError, query_each
from hccl_kit.preflight.node import CannotTellError, Node

NPU_SMI = "npu-smi"
HCCN_TOOL = "hccn_tool"
USUAL_PLACES: Mapping[str, Sequence[str]] = {
    NPU_SMI: npu_smi.USUAL_PLACES,
    HCCN_TOOL: (*hccn_tool.USUAL_PLACES, "/usr/bin/hccn_tool"),
}

_Answer = TypeVar("_Answer")


def find(node: Node, name: str) -> str | None:
    """The path of a tool: on PATH of the node, else at one of its usual places, else None."""
    there = shutil.which(name, path=node.environ.get("PATH", ""))
    places = [node.root / place.lstrip("/") for place in USUAL_PLACES[name]]
    return there or next((str(place) for place in places if may_be_file(place)), None)


def need(node: Node, name: str) -> str:
    """The path of a tool that has answered so far. Raises CannotTellError if it is missing or did not answer."""
    tool = find(node, name)
    if tool is None:
        raise CannotTellError("preflight.no-tool", "{tool} not found, see HK623", tool=name)
    if why := node.tools.failure(tool):
        raise _failed(name, why)
    return tool


def smi(node: Node, *words: str) -> str:
    """The output of npu-smi. Raises CannotTellError if it does not answer."""
    try:
        return node.tools.query(need(node, NPU_SMI), *words)
    except NoAnswerError as reason:
        raise _failed(NPU_SMI, reason) from None


def hccn(
    node: Node, ids: Sequence[int], read: Callable[[Callable[..., str]], _Answer]
) -> tuple[dict[int, _Answer], dict[int, str]]:
    """What `read` makes of the answers of hccn_tool, by card, all cards at once; and why the other cards have none.

    `read(query)` runs queries such as `query("-link", "-g")`, and raises NoAnswerError if an answer is unusable. A card
    that does not answer at all is in neither, since HK624, HK637 or HK638 reports it. Raises CannotTellError if no card
    answered.
    """
    tool = need(node, HCCN_TOOL)

    def of_card(device_id: int) -> _Answer:
        return read(lambda *words: node.tools.query(tool, "-i", str(device_id), *words))

    answers, failures = query_each(ids, of_card)
    silent = {card: reason for card in ids if (reason := node.tools.failure(tool, "-i", str(card)))}
    answers = {card: answer for card, answer in answers.items() if card not in silent}
    if (failures or silent) and not answers:
        raise _failed(HCCN_TOOL, next(iter([*failures.values(), *silent.values()])))
    return answers, {card: reason for card, reason in failures.items() if card not in silent}


def _failed(tool: str, reason: object) -> CannotTellError:
    return CannotTellError("preflight.tool-failed", "{tool}: {reason}", tool=tool, reason=reason)
