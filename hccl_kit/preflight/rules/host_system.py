"""HK6: what the kernel of this host, and the cores it gives to ranks, mean for the cards."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from hccl_kit.agent.binding import as_list
from hccl_kit.agent.machine import cores_in, near_cards
from hccl_kit.base.message import Message
from hccl_kit.check.rule import Rule
from hccl_kit.launch.assign import AFFINITY
from hccl_kit.preflight.node import ATLAS_950, CannotTellError, Node
from hccl_kit.preflight.probes import tools
from hccl_kit.preflight.probes.cards import ids_in_dev, need_npu
from hccl_kit.preflight.probes.port_holder import read
from hccl_kit.preflight.system_settings import GOVERNOR, HUGE_PAGES, system_settings
from hccl_kit.runtime.worker_env import VISIBLE_DEVICES
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding, finding

NEWEST_WITHOUT_HAVEGED = (5, 18)
"""Up to this kernel, x86 hosts of Atlas 950 need haveged.

Source: docs/zh/user_guide/constraints.md of hccl, 2026-08-22; valid for CANN 9.1, seen 2026-11-27.
"""
DIRECT_POST = "HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT"
"""For hosts with other pages than 4 KiB. Source: its page in hccl, 2026-08-22; valid for CANN 9.1, seen 2026-11-27."""
PAGE = 4096
ADVISED = {
    GOVERNOR: ("performance", "cpupower -c all frequency-set -g performance"),
    HUGE_PAGES: ("always", "echo always >/sys/kernel/mm/transparent_hugepage/enabled"),
}
"""Settings, what they should be, and how to set that.

Source: performance tuning in the manual of MindIE 2.3.0, for inference; msprechecker 0.4.0 (2026-04) asks for both too.
Seen 2026-11-29.
"""
_RANGE = re.compile("npu([0-9]{1,3}):([0-9]{1,4}-[0-9]{1,4})")


def unsuitable_kernel(node: Node) -> Iterator[Finding]:
    """The kernel of this host does not suit the cards, or a setting of it.

    What:           Atlas 950 in an x86 server with Linux up to 5.18, and haveged does not run; or memory pages of the
                    host that are not of 4 KiB, with Atlas A2 in a job of several servers, and
                    HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT is not TRUE; or a CPU governor other than performance, or
                    transparent huge pages that are not always used.
    Why it matters: the documents of HCCL name the first two as conditions. A container does not see the processes of
                    its host, where haveged may run. The manual of MindIE advises the other two: with the governor it
                    has about 3 % more throughput, with huge pages a steadier one.
    Example:        Linux 5.10 on x86; 64 KiB pages on aarch64; the governor powersave.
    Fix:            start haveged on the host, or use a newer kernel; export HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT=TRUE;
                    cpupower -c all frequency-set -g performance;
                    echo always >/sys/kernel/mm/transparent_hugepage/enabled.
    HCCL:           no code.
    """
    need_npu(node)
    release = read(node.root / "proc/sys/kernel/osrelease").strip()
    version = re.match(r"([0-9]{1,3})\.([0-9]{1,3})", release)
    is_old = version is not None and (int(version[1]), int(version[2])) <= NEWEST_WITHOUT_HAVEGED
    if node.table.version == ATLAS_950 and is_old and _is_x86(node.root) and not _runs(node.root, "haveged"):
        yield finding(
            "HK646.old-kernel",
            "Linux {release} on x86: Atlas 950 needs a kernel above 5.18, or haveged, which is not seen to run",
            fix="on the host: systemctl enable --now haveged, or use a newer kernel",
            release=shown(release),
        )
    page = os.sysconf("SC_PAGE_SIZE")
    is_posted = node.environ.get(DIRECT_POST, "").upper() == "TRUE"
    if page != PAGE and node.product.name.startswith("a2") and len(node.table.servers) > 1 and not is_posted:
        yield finding(
            "HK646.pages",
            "the memory pages of this host have {size} KiB, and {variable} is not TRUE",
            fix="export {variable}=TRUE on all servers",
            size=page >> 10,
            variable=DIRECT_POST,
        )
    settings = system_settings(node.root)
    for name, (advised, command) in ADVISED.items():
        if settings.get(name, advised) != advised:
            yield finding(
                "HK646.setting",
                "{name}: {value}; the manual of MindIE advises {advised}",
                fix="on the host: {command}",
                name=name,
                value=settings[name],
                advised=advised,
                command=command,
            )


def remote_cores(node: Node) -> Iterator[Finding]:
    """CPU_AFFINITY_CONF binds ranks to cores that are not near their card.

    What:           by CPU_AFFINITY_CONF a card gets none of the cores that `npu-smi info -t topo` names near it, or
                    cores of another card. Without ranges and npu_affine:1, torch_npu divides all cores among the cards
                    in their order.
    Why it matters: data goes through the memory of another NUMA node on its way to the card, or two ranks share cores.
    Example:        on 192 cores card 0 gets 0-23, and is near 144-167.
    Fix:            CPU_AFFINITY_CONF=1,npu_affine:1; or unset it, and start with hccl-kit run --bind cores.
    HCCL:           no code.
    """
    value = node.environ.get(AFFINITY, "")
    need_npu(node)
    if value.partition(",")[0].strip() not in ("1", "2") or "npu_affine:1" in value:
        return
    if VISIBLE_DEVICES in node.environ:
        raise CannotTellError(
            "HK647.renumbered", "{variable} changes the numbers of the cards", variable=VISIBLE_DEVICES
        )
    cores = _cores_by_torch_npu(node, value)
    near = near_cards(tools.smi(node, "info", "-t", "topo"))
    hint = Message("HK647.fix", "{variable}=1,npu_affine:1, or hccl-kit run --bind cores without it", variable=AFFINITY)
    remote = [card for card, chosen in cores.items() if card in near and not chosen & near[card]]
    if remote:
        card = remote[0]
        yield finding(
            "HK647.remote",
            "{variable}={value} gives card {card} the cores {chosen}; near it are {near}"
            " (cards that are bound like this: {count})",
            hint=hint,
            variable=AFFINITY,
            value=shown(value),
            card=card,
            chosen=as_list(cores[card]),
            near=as_list(near[card]),
            count=len(remote),
        )
    pairs = [(card, other) for card in cores for other in cores if card < other and cores[card] & cores[other]]
    if pairs:
        card, other = pairs[0]
        yield finding(
            "HK647.overlap",
            "{variable}={value} gives cards {card} and {other} the same cores {shared}",
            hint=hint,
            variable=AFFINITY,
            value=shown(value),
            card=card,
            other=other,
            shared=as_list(cores[card] & cores[other]),
        )


def _cores_by_torch_npu(node: Node, value: str) -> Mapping[int, frozenset[int]]:
    """The cores by card that torch_npu takes: the ranges of the user, else equal shares in the order of the cards.

    Source: docs/zh/api/environment_variable of Ascend/pytorch, 2026-08-21, seen 2026-11-27.
    """
    cards = ids_in_dev(node)
    ranges = {int(number): cores_in(text) for number, text in _RANGE.findall(value)}
    if ranges:
        return {cards[number]: cores for number, cores in ranges.items() if number < len(cards)}
    online = sorted(cores_in(read(node.root / "sys/devices/system/cpu/online")))
    size = len(online) // max(1, len(cards))
    return {card: frozenset(online[at * size : (at + 1) * size]) for at, card in enumerate(cards)} if size else {}


def _is_x86(root: Path) -> bool:
    return re.search(r"^vendor_id\s*:", read(root / "proc/cpuinfo"), re.MULTILINE) is not None


def _runs(root: Path, name: str) -> bool:
    return any(read(path).strip() == name for path in (root / "proc").glob("[0-9]*/comm"))


RULES = (
    Rule("HK646", "unsuitable-kernel", unsuitable_kernel, severity="warning"),
    Rule("HK647", "remote-cores", remote_cores, severity="warning", needs_server=True),
)
