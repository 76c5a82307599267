"""What the tools of the driver print for every read-only query that preflight makes, masked, as an archive.

A test replays such an archive as a machine, so that a user with cards can send what no test has seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hccl_kit.diagnosis.collecting import packed, stood_in
from hccl_kit.diagnosis.masking import Masker
from hccl_kit.discovery.driver_tool import NoAnswerError, query_each
from hccl_kit.preflight.node import CannotTellError, Node
from hccl_kit.preflight.probes import tools
from hccl_kit.preflight.probes.cards import info
from hccl_kit.snapshot.document import Snapshot, as_json

VERSION = 1
FOLDER = "hccl-kit-recording"
OF_SYSTEM = (("info",), ("info", "-m"))
"""What npu-smi is asked once."""
OF_NPU = (("info", "-t", "board"),)
OF_CHIP = (("info", "-t", "ecc"), ("info", "-t", "common"), ("info", "-t", "spod-info"))
OF_PORT = (
    ("-ip", "-g"),
    ("-ip", "-inet6", "-g"),
    *((word, "-g") for word in ("-vnic", "-link", "-link_stat", "-net_health", "-netdetect", "-gateway", "-tls")),
    *((word, "-g") for word in ("-optical", "-lldp", "-stat")),
)
"""What hccn_tool is asked for each card."""
_SERIAL = re.compile(r"(?im)^([^:\n]*(?:serial|\bsn\b|uuid|die id|asset)[^:\n]*:[ \t]*)\S.*$")
_CERTIFICATE = re.compile(r"(?i)\b(issuer|subject)\[[^\]\n]*\]")
_PUBLIC = re.compile(r"(?im)^([^:\n]*\b(?:version|netmask)[ \t]*:.*)$")
"""A line with a version, which may look like an address, or with a mask, which is read with its address."""
_SWITCH = re.compile(r"(?m)^(System Name TLV\n[ \t]+)(\S+)")


def recording_of(node: Node, snapshot: Snapshot, mask: Masker) -> bytes:
    """The archive of this machine, `node` with all of its cards, and of its snapshot. Asks what was not asked yet."""
    _ask_all(node)
    mask.learn(query.output for query in node.tools.answered())
    queries = [
        {
            "command": [Path(query.command[0]).name, *query.command[1:]],
            "seconds": round(query.seconds, 3),
            "output": _masked(query.output, mask),
        }
        for query in node.tools.answered()
    ]
    failures = [
        {"command": [Path(command[0]).name, *command[1:]], "reason": mask.text(str(reason))}
        for command, reason in node.tools.unanswered()
    ]
    recording = {"version": VERSION, "cards": node.device_ids, "queries": queries, "unanswered": failures}
    texts = {"snapshot.json": as_json(snapshot), "recording.json": json.dumps(recording, indent=1)}
    return packed(FOLDER, texts)


def _ask_all(node: Node) -> None:
    """Make the queries. A card is asked one thing after the other."""
    if smi := tools.find(node, tools.NPU_SMI):
        for words in _words_of_smi(node):
            with suppress(NoAnswerError):
                node.tools.query(smi, *words)
    hccn = tools.find(node, tools.HCCN_TOOL)
    if hccn is None:
        return

    def ask(card: int) -> None:
        for words in OF_PORT:
            node.tools.query(hccn, "-i", str(card), *words)

    query_each(node.device_ids, ask)


def _words_of_smi(node: Node) -> Iterator[tuple[str, ...]]:
    yield from OF_SYSTEM
    try:
        chips = info(node).chips
    except CannotTellError:
        return
    for npu in sorted({chip.npu for chip in chips}):
        yield from ((*words, "-i", str(npu)) for words in OF_NPU)
    for chip in chips:
        yield from ((*words, "-i", str(chip.npu), "-c", str(chip.chip)) for words in OF_CHIP)


def _masked(output: str, mask: Masker) -> str:
    """An output with stand-ins of the same form, so that it is read like the original."""
    text = _SERIAL.sub(r"\1<hidden>", output)
    text = _CERTIFICATE.sub(r"\1[<hidden>]", text)
    text = _SWITCH.sub(lambda line: line[1] + mask.host(line[2]), text)
    parts = _PUBLIC.split(text)
    return "".join(part if number % 2 else stood_in(mask.text(part)) for number, part in enumerate(parts))
