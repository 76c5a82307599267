"""HK6: what a container may lack of the driver: files in /dev, tools, and what the tools need."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from hccl_kit.discovery import npu_smi_info
from hccl_kit.discovery.ask import NoAnswerError, ask_each, complaint
from hccl_kit.preflight import asked
from hccl_kit.preflight.cards import CONTROLS, folded, ids_in_dev, need_npu
from hccl_kit.preflight.node import Fault, Node

HCCN_CONF = "etc/hccn.conf"
WITHOUT_ADDRESSES = "2.0"
"""Of the ports of Atlas 950 only its table tells; hccn_tool asks for them by other names there."""


def device_file_closed(node: Node) -> Iterator[Fault]:
    """A file in /dev is missing, or this user may not open it.

    What:           one of davinci_manager, devmm_svm and hisi_hdc is not in /dev; or this user may not read and write
                    one of them, or the davinciN of a card of the table.
    Why it matters: every program on an NPU opens all of them.
    Example:        a container was started with --device=/dev/davinci0 alone.
    Fix:            docker run --device=/dev/davinci_manager --device=/dev/devmm_svm --device=/dev/hisi_hdc; for rights,
                    put the user into the group that owns the files, which is HwHiAiUser by default.
    HCCL:           no code: the runtime fails before HCCL starts, such as with 507033 or "drv open failed".
    """
    need_npu(node)
    dev = node.root / "dev"
    missing = [name for name in CONTROLS if not os.path.lexists(dev / name)]
    if missing:
        yield Fault(
            f"{' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} not in /dev",
            "in a container, start it with: " + " ".join(f"--device=/dev/{name}" for name in missing),
        )
    cards = [f"davinci{device_id}" for device_id in _cards(node)]
    closed = [name for name in (*CONTROLS, *cards) if name not in missing and not _opens(dev / name)]
    if closed:
        more = f" and {len(closed) - 3} more" if len(closed) > 3 else ""
        yield Fault(
            f"this user may not read and write {', '.join(closed[:3])}{more} in /dev",
            "put the user into the group that owns them: usermod -aG HwHiAiUser USER, then log in anew",
        )


def tool_missing(node: Node) -> Iterator[Fault]:
    """A tool of the driver is not here.

    What:           npu-smi or hccn_tool is neither on PATH nor at its usual place.
    Why it matters: jobs run without them, but nobody can look: without npu-smi at health, processes and super pods,
                    without hccn_tool at links, addresses, gateways and TLS.
    Example:        a container that has the cards, and none of the tools.
    Fix:            docker run -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi -v /usr/local/Ascend/driver:... (which
                    holds tools/hccn_tool) -v /etc/hccn.conf:/etc/hccn.conf:ro.
    HCCL:           no code.
    """
    need_npu(node)
    if asked.find(node, asked.NPU_SMI) is None:
        yield Fault(
            "there is no npu-smi, so nobody looks at health, processes and super pods",
            "in a container: -v /usr/local/bin/npu-smi:/usr/local/bin/npu-smi -v /usr/local/dcmi:/usr/local/dcmi "
            "-v /usr/local/Ascend/driver/lib64:/usr/local/Ascend/driver/lib64",
        )
    if asked.find(node, asked.HCCN_TOOL) is None and node.table.version != WITHOUT_ADDRESSES:
        has_conf = (node.root / HCCN_CONF).exists()
        instead = "; addresses are taken from /etc/hccn.conf" if has_conf else ", and no /etc/hccn.conf"
        yield Fault(
            f"there is no hccn_tool, so nobody looks at links, gateways and TLS{instead}",
            "in a container: -v /usr/local/Ascend/driver/tools/hccn_tool:/usr/bin/hccn_tool"
            + ("" if has_conf else " -v /etc/hccn.conf:/etc/hccn.conf:ro"),
        )


def tool_silent(node: Node) -> Iterator[Fault]:
    """A tool of the driver is here and gives no answer.

    What:           npu-smi or hccn_tool cannot be started, does not end in time, or prints something else than a table.
    Why it matters: on a server whose driver is well both answer within seconds. What they would tell is not looked at.
    Example:        dcmi module initialize failed. ret is -8005
    Fix:            in a container, mount the libraries too: /usr/local/dcmi and /usr/local/Ascend/driver/lib64; on a
                    server, look at `dmesg`; a card that hangs may need a restart of the server.
    HCCL:           no code; where the driver hangs, every rank does.
    """
    need_npu(node)
    if tool := asked.find(node, asked.NPU_SMI):
        try:
            answer = asked.put(tool, "info")
            why = None if npu_smi_info.parse(answer) else complaint(answer)
        except NoAnswerError as reason:
            why = str(reason)
        if why is not None:
            yield Fault(
                f"npu-smi info: {why}",
                "in a container, mount /usr/local/dcmi and /usr/local/Ascend/driver/lib64; on a server, look at dmesg",
            )
    tool = asked.find(node, asked.HCCN_TOOL)
    if tool and node.table.version != WITHOUT_ADDRESSES:
        _, silent = ask_each(_cards(node), lambda device_id: asked.put(tool, "-i", str(device_id), "-ip", "-g"))
        yield from folded({i: f"hccn_tool -ip -g: {why}" for i, why in silent.items()}, "look at dmesg")


def _cards(node: Node) -> Sequence[int]:
    return sorted(set(node.device_ids) & set(ids_in_dev(node)))


def _opens(path: os.PathLike[str]) -> bool:
    return os.access(path, os.R_OK | os.W_OK, effective_ids=True)
