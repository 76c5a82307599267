"""HK6: what a container may lack of the driver: device files, tools, and what the tools need."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from hccl_kit.base.message import Message
from hccl_kit.base.wording import joined, listed
from hccl_kit.check.rule import Rule
from hccl_kit.discovery import hccn_tool, may_be_file, npu_smi
from hccl_kit.discovery.driver_tool import HangError, NoAnswerError, excerpt, query_each
from hccl_kit.preflight.node import ATLAS_950, Node
from hccl_kit.preflight.probes import tools
from hccl_kit.preflight.probes.cards import CONTROLS, findings_on_cards, ids_in_dev, need_npu
from hccl_kit.table.finding import Finding, finding

HCCN_CONF = "etc/hccn.conf"
_ADDRESS = ("-ip", "-g")
_OF_USER = Message(
    "HK621.closed-files.fix",
    "put the user into the group that owns them: usermod -aG HwHiAiUser USER, then log in again",
)
_OF_ROOT = Message(
    "HK621.closed-files.fix-2",
    "root needs a capability for files of others, which this container lacks: --cap-add DAC_OVERRIDE",
)
"""Source: Project-HAMi/ascend-device-plugin#139, 2026-09-22: 910B4 with `drop: [ALL]`; seen 2026-11-29."""
_CHECK_DMESG = Message("HK624.fix", "check dmesg")


def device_file_closed(node: Node) -> Iterator[Finding]:
    """A device file is missing, or this user may not open it.

    What:           one of davinci_manager, devmm_svm and hisi_hdc is not in /dev; or this user may not read and write
                    one of them, or the davinciN of a card of the table.
    Why it matters: every program on an NPU opens all of them.
    Example:        a container was started with --device=/dev/davinci0 alone.
    Fix:            docker run --device=/dev/davinci_manager --device=/dev/devmm_svm --device=/dev/hisi_hdc; for rights,
                    put the user into the group that owns the files, which is HwHiAiUser by default. Root, which is not
                    in that group, needs the capability DAC_OVERRIDE, which a container may have dropped.
    HCCL:           no code: the runtime fails before HCCL starts, such as with 507033 or "drv open failed".
    """
    need_npu(node)
    dev = node.root / "dev"
    missing = [name for name in CONTROLS if not os.path.lexists(dev / name)]
    if missing:
        yield Finding(
            Message("HK621.missing-files", "{files} are not in /dev", files=joined(missing))
            if len(missing) > 1
            else Message("HK621.missing-file", "{file} is not in /dev", file=missing[0]),
            Message(
                "HK621.missing-files.fix",
                "in a container, start it with: {options}",
                options=" ".join(f"--device=/dev/{name}" for name in missing),
            ),
        )
    cards = [f"davinci{device_id}" for device_id in _cards(node)]
    closed = [name for name in (*CONTROLS, *cards) if name not in missing and not _opens(dev / name)]
    if closed:
        yield finding(
            "HK621.closed-files",
            "this user may not read and write {files} in /dev",
            hint=_OF_ROOT if os.geteuid() == 0 else _OF_USER,
            files=listed(closed, 3),
        )


def tool_missing(node: Node) -> Iterator[Finding]:
    """A tool of the driver is missing.

    What:           npu-smi or hccn_tool is neither on PATH nor at its usual place.
    Why it matters: jobs run without them, but less can be checked: without npu-smi no health, processes and super pods,
                    without hccn_tool no links, addresses, gateways and TLS.
    Example:        a container that has the cards, but not the tools.
    Fix:            docker run -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi -v /usr/local/Ascend/driver:... (which
                    holds tools/hccn_tool) -v /etc/hccn.conf:/etc/hccn.conf:ro.
    HCCL:           no code.
    """
    need_npu(node)
    if tools.find(node, tools.NPU_SMI) is None:
        yield finding(
            "HK623.no-npu-smi",
            "npu-smi not found; health, processes and super pods are not checked",
            fix="in a container: -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi -v /usr/local/dcmi:/usr/local/dcmi "
            "-v /usr/local/Ascend/driver/lib64:/usr/local/Ascend/driver/lib64",
        )
    if tools.find(node, tools.HCCN_TOOL) is None and node.table.version != ATLAS_950:
        yield _without_hccn_tool(has_conf=may_be_file(node.root / HCCN_CONF))


def _without_hccn_tool(*, has_conf: bool) -> Finding:
    if has_conf:
        return finding(
            "HK623.conf-instead-of-tool",
            "hccn_tool not found; links, gateways and TLS are not checked; addresses are taken from /etc/hccn.conf",
            fix="in a container: -v /usr/local/Ascend/driver/tools/hccn_tool:/usr/bin/hccn_tool",
        )
    return finding(
        "HK623.no-hccn-tool",
        "hccn_tool not found; links, gateways and TLS are not checked, and there is no /etc/hccn.conf",
        fix="in a container: -v /usr/local/Ascend/driver/tools/hccn_tool:/usr/bin/hccn_tool "
        "-v /etc/hccn.conf:/etc/hccn.conf:ro",
    )


def nameless_user(node: Node) -> Iterator[Finding]:
    """The user of this process has no name.

    What:           /etc/passwd, or what else this system asks, has no entry for the user of this process.
    Why it matters: hccn_tool stops at its start for such a user, without a message. What it would report of links,
                    addresses and TLS cannot be checked, and looks as if there was nothing to report.
    Example:        docker run --user 1004, and the image knows no user 1004.
    Fix:            docker run -v /etc/passwd:/etc/passwd:ro -v /etc/group:/etc/group:ro, or add the user to the image.
    HCCL:           no code.
    """
    need_npu(node)
    user = os.geteuid()
    try:
        pwd.getpwuid(user)
    except KeyError:
        yield finding(
            "HK648.nameless-user",
            "user {user} has no entry in /etc/passwd; hccn_tool then prints nothing",
            fix="in a container: -v /etc/passwd:/etc/passwd:ro -v /etc/group:/etc/group:ro",
            user=user,
        )


def tool_silent(node: Node) -> Iterator[Finding]:
    """A tool of the driver does not answer.

    What:           `npu-smi info`, or hccn_tool asked for the address of a card of the table, does not end in time.
    Why it matters: with a healthy driver both answer within seconds. What they report could not be checked.
    Example:        card 5: hccn_tool -ip -g: no answer in 10 s
    Fix:            check `dmesg`; a card that hangs may need a restart of the server.
    HCCL:           no code; if the driver hangs, every rank hangs.
    """
    failure, by_card = _failures(node)
    if isinstance(failure, HangError):
        yield _smi_failed(failure, _CHECK_DMESG)
    silent = {card: _address_not_read(reason) for card, reason in by_card.items() if isinstance(reason, HangError)}
    yield from findings_on_cards(silent, _CHECK_DMESG)


def tool_stopped_answering(node: Node) -> Iterator[Finding]:
    """A tool of the driver answered at first and then stopped.

    What:           npu-smi or hccn_tool did not answer a question of the rules before this one; except what HK624 and
                    HK638 report.
    Why it matters: the driver hangs in some query, such as the link of a card. What the tool reports of that card, or
                    npu-smi of any, was not checked, though the rules look fine.
    Example:        card 5: hccn_tool -link -g: no answer in 10 s
    Fix:            check `dmesg`; a card that hangs may need a restart of the server.
    HCCL:           no code; if the driver hangs, every rank hangs.
    """
    need_npu(node)
    cards: dict[int, Message] = {}
    for command, reason in node.tools.unanswered():
        name, *words = (Path(command[0]).name, *command[1:])
        if words[0] == "-i" and words[2:] != [*_ADDRESS]:
            cards[int(words[1])] = Message(
                "HK637.silent-card", "{tool} {words}: {reason}", tool=name, words=" ".join(words[2:]), reason=reason
            )
        elif words[0] != "-i" and words != ["info"]:
            yield finding(
                "HK637.silent-query",
                "{tool} {words}: {reason}",
                hint=_CHECK_DMESG,
                tool=name,
                words=" ".join(words),
                reason=reason,
            )
    yield from findings_on_cards(dict(sorted(cards.items())), _CHECK_DMESG)


def tool_unusable(node: Node) -> Iterator[Finding]:
    """A tool of the driver cannot be used.

    What:           npu-smi or hccn_tool cannot be started, or prints something unexpected; npu-smi also if it lists no
                    chip.
    Why it matters: jobs run without them, but what they report could not be checked.
    Example:        dcmi module initialize failed. ret is -8005
    Fix:            in a container, mount the libraries too: /usr/local/dcmi and /usr/local/Ascend/driver/lib64; if this
                    user may not execute them, run this as root.
    HCCL:           no code.
    """
    hint = Message(
        "HK638.fix",
        "in a container, mount /usr/local/dcmi and /usr/local/Ascend/driver/lib64; if this user may not execute it, "
        "run this as root",
    )
    failure, by_card = _failures(node)
    if failure is not None and not isinstance(failure, HangError):
        yield _smi_failed(failure, hint)
    unusable = {card: _address_not_read(why) for card, why in by_card.items() if not isinstance(why, HangError)}
    yield from findings_on_cards(unusable, hint)


def _smi_failed(reason: NoAnswerError, hint: Message) -> Finding:
    return finding("HK624.npu-smi", "npu-smi info: {reason}", hint=hint, reason=reason)


def _address_not_read(reason: NoAnswerError) -> Message:
    return Message("HK624.hccn-tool", "hccn_tool -ip -g: {reason}", reason=reason)


def _failures(node: Node) -> tuple[NoAnswerError | None, Mapping[int, NoAnswerError]]:
    """Why npu-smi, and hccn_tool for each card, do not answer their first query."""
    need_npu(node)
    tool = tools.find(node, tools.HCCN_TOOL)
    if tool is None or node.table.version == ATLAS_950:
        return _smi_failure(node), {}
    reasons, _ = query_each(_cards(node), lambda device_id: _failure(node, tool, device_id))
    return _smi_failure(node), {device_id: reason for device_id, reason in reasons.items() if reason}


def _smi_failure(node: Node) -> NoAnswerError | None:
    tool = tools.find(node, tools.NPU_SMI)
    if tool is None:
        return None
    try:
        answer = node.tools.query(tool, "info")
    except NoAnswerError as reason:
        return reason
    info = npu_smi.info(answer)
    if info is None:
        return NoAnswerError(excerpt(answer))
    return None if info.chips else NoAnswerError(Message("preflight.no-chip", "it lists no chip"))


def _failure(node: Node, tool: str, device_id: int) -> NoAnswerError | None:
    try:
        answer = node.tools.query(tool, "-i", str(device_id), *_ADDRESS)
    except NoAnswerError as reason:
        return reason
    return None if hccn_tool.is_answer(answer) else NoAnswerError(excerpt(answer))


def _cards(node: Node) -> Sequence[int]:
    return sorted(set(node.device_ids) & set(ids_in_dev(node)))


def _opens(path: os.PathLike[str]) -> bool:
    return os.access(path, os.R_OK | os.W_OK, effective_ids=True)


RULES = (
    Rule("HK621", "inaccessible-device-file", device_file_closed, needs_server=True),
    Rule("HK623", "missing-driver-tool", tool_missing, severity="warning", needs_server=True),
    Rule("HK624", "silent-driver-tool", tool_silent, needs_server=True),
    Rule("HK637", "hung-driver-tool", tool_stopped_answering, needs_server=True),
    Rule("HK638", "unusable-driver-tool", tool_unusable, severity="warning", needs_server=True),
    Rule("HK648", "nameless-user", nameless_user, severity="warning"),
)
