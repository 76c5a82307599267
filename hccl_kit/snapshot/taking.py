"""Taking a snapshot: of this machine, or of every server of a table, with facts about a table and about weights.

A recording is what the tools of the driver print for every read-only query that preflight makes, masked, as an
archive. A test replays it as a machine, so that a user with cards can send what no test has seen.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import socket
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from hccl_kit import __version__
from hccl_kit.base.errors import KitError
from hccl_kit.base.wording import system_reason
from hccl_kit.check.engine import check_text
from hccl_kit.check.result import Report
from hccl_kit.diagnosis.collecting import packed, stood_in
from hccl_kit.diagnosis.environment import mask_of
from hccl_kit.diagnosis.masking import Masker
from hccl_kit.discovery.driver_tool import NoAnswerError, query_each
from hccl_kit.launch.plan import address_of
from hccl_kit.preflight.all_servers import machines_of
from hccl_kit.preflight.machine import machine_of, node_of_all_cards
from hccl_kit.preflight.node import CannotTellError, Node
from hccl_kit.preflight.probes import tools
from hccl_kit.preflight.probes.cards import info
from hccl_kit.remote.probe import Reach
from hccl_kit.snapshot.document import THIS, Snapshot, as_json, masked
from hccl_kit.table.operations.digest import digest
from hccl_kit.table.reading import load

_PIECE = 1 << 20


def this_node() -> Node:
    """This machine with all of its cards."""
    return node_of_all_cards(Path("/"), os.environ)


def mask_here() -> Masker:
    """The mask of this machine."""
    return mask_of(os.environ, socket.gethostname())


def snapshot_of(node: Node, table: str | None = None, weights: Sequence[str] = ()) -> Snapshot:
    """The snapshot of this machine. Raises KitError if the file of the table or one of the weights cannot be read."""
    described = described_table(*_checked(table)) if table else None
    digests = weight_digests(weights)
    machine = machine_of(node)
    machine = machine._replace(versions={**machine.versions, "hccl_kit": __version__})
    return Snapshot({THIS: masked(machine, mask_here())}, table=described, weights=digests)


def snapshot_over_ssh(table: str, weights: Sequence[str], reach: Reach) -> Snapshot:
    """The snapshot of all servers of a table, numbered in its order. Raises KitError if the table has errors."""
    data, report = _checked(table)
    if report.table is None or not report.ok:
        raise KitError(
            "snapshot.table", "{path} is not a table without errors", fix="hccl-check {path} shows them", path=table
        )
    digests = weight_digests(weights)
    machines, silent = machines_of(report.table, reach)
    servers = report.table.servers
    hosts = {name for server in servers for name in (server.id, address_of(server))}
    mask = mask_of(os.environ, socket.gethostname(), *hosts, *(machine.host for machine in machines.values()))
    mask.learn(text for machine in machines.values() for text in machine.variables.values())
    names = {server.id: f"server {number}" for number, server in enumerate(servers)}
    return Snapshot(
        {name: masked(machines[server], mask) for server, name in names.items() if server in machines},
        {name: mask.text(silent[server]) for server, name in names.items() if server in silent},
        described_table(data, report),
        digests,
    )


def _checked(file: str) -> tuple[bytes, Report]:
    data, name = load(file)
    return data, check_text(data, name)


def described_table(data: bytes, report: Report) -> dict[str, Any]:
    """Facts about a table, without any address."""
    errors = [finding for finding in report.findings if finding.severity == "error"]
    return {
        "format": report.format,
        "servers": len(report.table.servers) if report.table else None,
        "devices": report.table.world_size if report.table else None,
        "errors": len(errors),
        "rules": dict(sorted(Counter(finding.rule for finding in report.findings).items())),
        "sha256": hashlib.sha256(data).hexdigest(),
        "digest": digest(report.table) if report.table else None,
    }


def weight_digests(files: Sequence[str]) -> Mapping[str, str]:
    """The SHA-256 of files by their name without folders.

    Raises KitError if one cannot be read, or two have one name.
    """
    digests = {Path(file).name: _digest(file) for file in files}
    if len(digests) < len(files):
        raise KitError("snapshot.two-weights", "two of the weights have the same name; accepted: one of each name")
    return digests


def _digest(file: str) -> str:
    made = hashlib.sha256()
    try:
        with Path(file).open("rb") as source:
            while piece := source.read(_PIECE):
                made.update(piece)
    except OSError as error:
        raise KitError(
            "snapshot.weights", "cannot read {path}: {reason}", path=file, reason=system_reason(error)
        ) from error
    return made.hexdigest()


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
