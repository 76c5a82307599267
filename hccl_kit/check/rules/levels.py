"""HK2 of version 2.0: backups, and the networks of the ranks (R34). The addresses are in `rank_addresses`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

from hccl_kit.base.message import Message
from hccl_kit.check.rule import Rule, first_defined, repeated
from hccl_kit.table.bounds import BACKUP
from hccl_kit.table.document import shown
from hccl_kit.table.finding import INVALID, MISSING, Finding, Related
from hccl_kit.table.model import Device, RankTable
from hccl_kit.table.pointer import Pointer
from hccl_kit.table.products import Product


def backup_rank(table: RankTable, _product: Product) -> Iterator[Finding]:
    """A backup names no NPU to replace, or there are two backups.

    What:           a rank has local id 64, which marks a backup, without a good `replaced_local_id`; or a second has.
    Why it matters: a job may have one backup NPU, and HCCL must know which NPU it replaces.
    Example:        "local_id": 64 alone.
    Fix:            add "replaced_local_id" with the local id of the NPU that failed, 0 to 63.
    HCCL:           EI0017 without `replaced_local_id`, EI0014 for one below 0 and for a second backup, else no code
                    (R34).
    """
    hint = Message("HK225.fix", 'give it "replaced_local_id" with a local id from 0 to 63')
    backups = _backups(table)
    for number, device in enumerate(backups):
        if "replaced_local_id" not in device.extra:
            message = Message(
                "HK225.no-npu",
                "rank {rank} is a backup (local id {backup}) and names no NPU to replace",
                rank=device.rank,
                backup=BACKUP,
            )
            yield Finding(message, hint, pointer=(*device.at, "local_id"), hccl_error=MISSING)
        elif _replaced(device) is None:
            written = shown(device.extra["replaced_local_id"])
            message = Message(
                "HK225.local-id",
                '"replaced_local_id" of a backup is {found}, and a whole number from 0 to 63 is expected',
                found=written,
            )
            yield Finding(message, pointer=(*device.at, "replaced_local_id"))
        elif number:
            message = Message(
                "HK225.second",
                "rank {rank} is a backup (local id {backup}), and so is rank {other}",
                rank=device.rank,
                backup=BACKUP,
                other=backups[0].rank,
            )
            related = first_defined((*backups[0].at, "local_id"))
            hint = Message("HK225.second.fix", "one backup is accepted")
            yield Finding(message, hint, pointer=(*device.at, "local_id"), related=related, hccl_error=INVALID)


def replaced_is_there(table: RankTable, _product: Product) -> Iterator[Finding]:
    """A backup replaces an NPU that is in the table.

    What:           `replaced_local_id` of the backup is the local id of another rank. HCCL looks in all networks.
    Why it matters: the backup replaces an NPU that failed, which must not take part.
    Example:        "local_id": 64 with "replaced_local_id": 3, and a rank with local id 3.
    Fix:            remove the rank that failed, or write the local id that is missing.
    HCCL:           EI0014, recordedReplacedLocalId; older releases give no code (R34).
    """
    for device in _backups(table)[:1]:
        replaced = _replaced(device)
        other = next((other for other in table.every if other.local_id == replaced), None)
        if other is not None:
            message = Message(
                "HK229.present",
                "the backup, rank {rank}, replaces local id {replaced}, which rank {other} has",
                rank=device.rank,
                replaced=replaced,
                other=other.rank,
            )
            related = (Related((*other.at, "local_id"), Message("HK229.place", "is here")),)
            hint = Message("HK229.fix", "remove the rank that failed, or write the local id that is missing")
            yield Finding(message, hint, pointer=(*device.at, "replaced_local_id"), related=related)


def layers_not_ascending(table: RankTable, _product: Product) -> Iterator[Finding]:
    """The layers of a rank do not ascend.

    What:           a `net_layer` that is not higher than the one before it in the same `level_list`.
    Why it matters: HCCL reads the networks of a rank from the innermost outwards.
    Example:        layer 3 before layer 0, or layer 0 twice.
    Fix:            order the levels by their layer, each layer once.
    HCCL:           no code; the parser refuses the table (R34).
    """
    for device in table.every:
        for place, (before, level) in enumerate(pairwise(device.levels), start=1):
            if level.layer <= before.layer:
                message = Message(
                    "HK226.order",
                    '"net_layer" is {layer} after {before}; layers must ascend, each one once',
                    layer=level.layer,
                    before=before.layer,
                )
                hint = Message("HK226.fix", "order the levels by net_layer")
                yield Finding(message, hint, pointer=_level(device, place, "net_layer"))
                break


def address_count(table: RankTable, _product: Product) -> Iterator[Finding]:
    """A rank has more or fewer addresses in a network than the others.

    What:           the length of `rank_addr_list` differs from that of most ranks in the same network.
    Why it matters: HCCL pairs the addresses of the ranks of one network.
    Example:        two addresses for rank 0 and one for rank 1, both in layer 0 of "superpod_0".
    Fix:            list the same number of addresses for every rank of the network.
    HCCL:           no code; the parser refuses the table (R34).
    """
    sizes = {(level.layer, level.instance, len(level.addresses)) for level in table.every_level}
    several = Counter([size[:2] for size in sizes])
    if several.total() == len(several):
        return
    counts: dict[tuple[int, str], Counter[int]] = {network: Counter() for network, n in several.items() if n > 1}
    for level in table.every_level:
        if (level.layer, level.instance) in counts:
            counts[level.layer, level.instance][len(level.addresses)] += 1
    usual = {network: lengths.most_common(1)[0][0] for network, lengths in counts.items()}  # the first of two as common
    for device in table.every:
        for place, level in enumerate(device.levels):
            size = usual.get((level.layer, level.instance), len(level.addresses))
            if len(level.addresses) != size:
                message = Message(
                    "HK227.count",
                    "rank {rank} has {count} addresses in layer {layer} of {network}, others have {usual}",
                    rank=device.rank,
                    count=len(level.addresses),
                    layer=level.layer,
                    network=shown(level.instance),
                    usual=size,
                )
                hint = Message("HK227.fix", "list the same number for every rank")
                yield Finding(message, hint, pointer=_level(device, place, "rank_addr_list"))


def local_id_twice(table: RankTable, _product: Product) -> Iterator[Finding]:
    """Two ranks of a network have the same local id.

    What:           a `local_id` that an earlier rank of the same innermost network already has.
    Why it matters: the local id is the place of the NPU in the topology file, so two ranks would be the same NPU.
    Example:        the block of one rank copied for the next.
    Fix:            write the place of each NPU.
    HCCL:           does not look for it.
    """
    for server in table.servers:
        if len({device.local_id for device in server.devices}) == len(server.devices) or not server.devices[0].levels:
            continue
        for local_id, device, earlier in repeated((device.local_id, device) for device in server.devices):
            if local_id != BACKUP:
                message = Message(
                    "HK228.taken",
                    "local id {local_id} is already taken by rank {other} of {server}",
                    local_id=local_id,
                    other=earlier.rank,
                    server=shown(server.id),
                )
                related = first_defined((*earlier.at, "local_id"))
                hint = Message("HK228.fix", "write the place of each NPU")
                yield Finding(message, hint, pointer=(*device.at, "local_id"), related=related)


def innermost_type(table: RankTable, _product: Product) -> Iterator[Finding]:
    """The innermost network is not described by the topology file.

    What:           a level of layer 0 has another `net_type` than TOPO_FILE_DESC. Reported once for a table.
    Why it matters: the manual asks for it: the links inside a super pod are those of the topology file.
    Example:        layer 0 without net_type, which stands for CLOS.
    Fix:            write "net_type": "TOPO_FILE_DESC" on layer 0.
    HCCL:           documented, not enforced.
    """
    for device in table.every:
        if not device.levels:
            continue
        level = device.levels[0]
        if level.layer == 0 and level.type != "TOPO_FILE_DESC":
            pointer = _level(device, 0, *(["net_type"] if level.type else []))
            message = Message(
                "HK321.absent",
                '"net_type" of layer 0 is left out, which means CLOS; the manual asks for TOPO_FILE_DESC',
            )
            if level.type:
                message = Message(
                    "HK321.type",
                    '"net_type" of layer 0 is {type}; the manual asks for TOPO_FILE_DESC',
                    type=shown(level.type),
                )
            hint = Message("HK321.fix", 'write "net_type": "TOPO_FILE_DESC" on layer 0 of every rank')
            yield Finding(message, hint, pointer=pointer)
            return


def network_missing(table: RankTable, _product: Product) -> Iterator[Finding]:
    """A rank is in no network.

    What:           an empty `level_list`.
    Why it matters: HCCL connects ranks through the networks that they share; a rank in none reaches no other.
    Example:        "level_list": []
    Fix:            list the networks of the rank, from the innermost outwards.
    HCCL:           its parser accepts it (R34), and gives the rank no link. A snapshot of the job cannot be saved then.
    """
    for device in table.every:
        if not device.levels:
            message = Message("HK239.none", "rank {rank} is in no network", rank=device.rank)
            hint = Message("HK239.fix", "list its networks, from the innermost outwards")
            yield Finding(message, hint, pointer=(*device.at, "level_list"))


def _level(device: Device, place: int, *keys: str | int) -> Pointer:
    return (*device.at, "level_list", place, *keys)


def _backups(table: RankTable) -> list[Device]:
    """The backup ranks in the order of the document, where the ranks of several networks may be interleaved."""
    return sorted([device for device in table.every if device.local_id == BACKUP], key=lambda device: device.at)


def _replaced(backup: Device) -> int | None:
    """The local id that a backup stands in for; None if it names none."""
    replaced = backup.extra.get("replaced_local_id")
    return replaced if type(replaced) is int and 0 <= replaced < BACKUP else None


RULES = (
    Rule("HK225", "invalid-backup-rank", backup_rank, kinds=("2.0",)),
    Rule("HK226", "layer-order", layers_not_ascending, kinds=("2.0",)),
    Rule("HK227", "address-count", address_count, kinds=("2.0",)),
    Rule("HK228", "duplicate-local-id", local_id_twice, severity="warning", kinds=("2.0",)),
    Rule(
        "HK229",
        "replaced-npu-present",
        replaced_is_there,
        hccl_error="EI0014",
        variables=("recordedReplacedLocalId",),
        kinds=("2.0",),
    ),
    Rule("HK239", "rank-without-network", network_missing, severity="warning", kinds=("2.0",)),
    Rule("HK321", "innermost-network-type", innermost_type, severity="warning", kinds=("2.0",)),
)
