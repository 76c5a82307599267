"""HK6: what a container was given that the chip cannot use, or was not given although its HCCL reads it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from hccl_kit.base.bounded_file import read_bounded
from hccl_kit.base.errors import KitError
from hccl_kit.base.wording import joined, listed
from hccl_kit.check.rule import Rule
from hccl_kit.preflight.node import ATLAS_950, CannotTellError, Node
from hccl_kit.preflight.probes.cards import VISIBLE_TO_CONTAINER, ids_in_dev, named, need_npu, visible_cards
from hccl_kit.preflight.rules.variables import listed_devices
from hccl_kit.runtime.worker_env import VISIBLE_DEVICES
from hccl_kit.table.document import shown
from hccl_kit.table.finding import NO_CODE, Finding, finding

ROOT_INFO = "etc/hccl_rootinfo.json"
TOPOLOGY = "usr/local/Ascend/driver/topo"
MAX_ROOT_INFO = 64 << 20
FIRST_VIRTUAL, VIRTUAL_PER_CARD = 100, 16
"""Card P has virtual cards from 100 + 16 P. Source: hiascend.com, Atlas 300V, virtual NPUs, seen 2026-11-29."""


def stale_root_info(node: Node) -> Iterator[Finding]:
    """The file `/etc/hccl_rootinfo.json` is of another chip.

    What:           the file has a version of rank table that HCCL of this product does not read: Atlas A2 reads 1.0,
                    A3 also 1.2, Atlas 950 reads 2.0 only. Or it is a folder.
    Why it matters: the container runtime of Ascend mounts the file into every container if the host has it, whatever
                    its version. HCCL takes it for the rank table of the server, and no variable switches that off.
    Example:        a file of version 1.0 that an older fleet left on a server with Atlas 950.
    Fix:            move it away on the host and start the container again; HCCL needs none to start.
    HCCL:           EI0014, with nothing that names the file.
    """
    accepted = node.product.table_versions
    need_npu(node)
    path = node.root / ROOT_INFO
    if path.is_dir():
        yield finding(
            "HK639.folder",
            "/{path} is a folder, which docker makes where the host has no such file",
            fix="remove the mount of it; on the host: rmdir /{path}",
            hccl_error=NO_CODE,
            path=ROOT_INFO,
        )
        return
    if not path.exists():
        return
    version = _version(path)
    if version not in accepted:
        read = joined([version for version in accepted if version])
        yield finding(
            "HK639.stale-root-info",
            "/{path} has version {version}; HCCL of this product reads {read}",
            fix="on the host: mv /{path} /{path}.old, then start the container again",
            path=ROOT_INFO,
            version=shown(version),
            read=read,
        )


def no_topology(node: Node) -> Iterator[Finding]:
    """The driver's topology files are missing.

    What:           the table is of version 2.0, and /usr/local/Ascend/driver/topo has no .json file.
    Why it matters: HCCL of Atlas 950 reads there which cards are linked. A container that was given only
                    driver/lib64 and version.info lacks them.
    Example:        docker run -v /usr/local/Ascend/driver/lib64:/usr/local/Ascend/driver/lib64 ...
    Fix:            docker run -v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro, the whole folder.
    HCCL:           EI0014, "atlas_350_3.json" or another of these files is missing.
    """
    need_npu(node)
    if node.table.version != ATLAS_950:
        return
    folder = node.root / TOPOLOGY
    try:
        has_files = any(path.suffix == ".json" for path in folder.iterdir())
    except FileNotFoundError:
        has_files = False
    except OSError as error:
        raise CannotTellError(
            "HK640.not-read", "/{folder} cannot be read: {reason}", folder=TOPOLOGY, reason=error.strerror
        ) from None
    if not has_files:
        yield finding(
            "HK640.no-topology",
            "/{folder} has no .json file",
            fix="in a container: -v /usr/local/Ascend/driver:/usr/local/Ascend/driver:ro, the whole folder",
            folder=TOPOLOGY,
        )


def other_cards_in_container(node: Node) -> Iterator[Finding]:
    """ASCEND_VISIBLE_DEVICES or ASCEND_RT_VISIBLE_DEVICES does not match the cards of this container.

    What:           ASCEND_VISIBLE_DEVICES names a card that is not in /dev, or is not ascending; or
                    ASCEND_RT_VISIBLE_DEVICES in such a container has a number that is not below the number of its
                    cards.
    Why it matters: ASCEND_VISIBLE_DEVICES asks the container runtime of Ascend for cards when a container starts. Set
                    later, or without that runtime, it does nothing; and its order never counts: the cards of a
                    container are numbered ascending from 0. ASCEND_RT_VISIBLE_DEVICES selects among these numbers: with
                    cards 3 to 7, 2 is card 5 (measured in vllm-ascend#16256). Some frameworks take it for the numbers
                    of the host instead (vllm-ascend#12959), so in a container it is best left unset.
    Example:        ASCEND_VISIBLE_DEVICES=4,3, and rank 0 is expected on card 4; it runs on card 3.
    Fix:            write it ascending in what starts the container; for an order, use DEVICE_ID or the rank table.
    HCCL:           EI0014 (devicePhyId); or no code: "open device 1 failed", 507033, E39007.
    """
    text = node.environ.get(VISIBLE_TO_CONTAINER, "")
    need_npu(node)
    wanted, there = visible_cards(text), ids_in_dev(node)
    if not there:
        return
    absent = sorted(set(wanted) - set(there))
    if absent:
        yield finding(
            "HK641.absent-cards",
            "{variable}={value}, but /dev has {present}, not {cards}",
            fix="set it where the container is started, with the container runtime of Ascend, or give it --device "
            "options",
            variable=VISIBLE_TO_CONTAINER,
            value=shown(text),
            present=named(there),
            cards=named(absent),
        )
    if any(before > after for before, after in pairwise(wanted)):
        yield finding(
            "HK641.order",
            "{variable}={value}: the order is ignored, programs number these cards in ascending order",
            fix="write {cards}",
            variable=VISIBLE_TO_CONTAINER,
            value=shown(text),
            cards=",".join(map(str, sorted(wanted))),
        )
    beyond = [number for number in listed_devices(node.environ) or () if number >= len(there)] if text else []
    if beyond:
        yield finding(
            "HK641.beyond",
            "{variable}={value} selects among the {number} cards of this container, which count from 0, "
            "whatever their numbers in /dev ({cards})",
            fix="unset {variable}, or write numbers from 0 to {last}",
            variable=VISIBLE_DEVICES,
            value=shown(node.environ[VISIBLE_DEVICES]),
            number=len(there),
            cards=named(there),
            last=len(there) - 1,
        )


def virtual_cards(node: Node) -> Iterator[Finding]:
    """A card is split into virtual ones (vNPU).

    What:           /dev has the file of a virtual card: davinciN with N from 100 in a container, vdavinciN on a host,
                    of a card of the table.
    Why it matters: HCCL supports no virtual cards, on any product.
    Example:        docker run --device=/dev/vdavinci100:/dev/davinci100
    Fix:            run the job on whole cards; on the host: npu-smi set -t destroy-vnpu -i NPU -c CHIP -v 100.
    HCCL:           no code.
    """
    need_npu(node)
    names = [f"davinci{number}" for number in ids_in_dev(node) if number >= FIRST_VIRTUAL]
    for path in (node.root / "dev").glob("vdavinci*"):
        number = path.name.removeprefix("vdavinci")
        if number.isdecimal() and (int(number[:4]) - FIRST_VIRTUAL) // VIRTUAL_PER_CARD in node.device_ids:
            names.append(path.name)
    if names:
        yield finding(
            "HK649.virtual",
            "HCCL supports no virtual cards; /dev has {names}",
            fix="run the job on cards that are not split",
            names=listed(sorted(names), 4),
        )


def _version(path: Path) -> str:
    """The version that a file names. Raises CannotTellError if it names none."""
    try:
        value = json.loads(read_bounded(path, MAX_ROOT_INFO))
    except KitError as error:
        raise CannotTellError(
            "HK639.not-read", "/{path} cannot be read: {reason}", path=ROOT_INFO, reason=error.message
        ) from None
    except (ValueError, RecursionError):
        raise CannotTellError("HK639.not-json", "/{path} is not JSON", path=ROOT_INFO) from None
    version = value.get("version") if isinstance(value, dict) else None
    if not isinstance(version, str):
        raise CannotTellError("HK639.no-version", "/{path} names no version", path=ROOT_INFO)
    return version


RULES = (
    Rule("HK639", "stale-root-info", stale_root_info, hccl_error="EI0014", needs_server=True),
    Rule("HK640", "missing-topology-file", no_topology, hccl_error="EI0014", needs_server=True),
    Rule("HK641", "wrong-container-cards", other_cards_in_container, severity="warning", needs_server=True),
    Rule("HK649", "virtual-card", virtual_cards, severity="warning", needs_server=True),
)
