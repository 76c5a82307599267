"""HK4: which cards of a server a job may take, and how many. `products` has what differs between products."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from hccl_kit.base.message import Message
from hccl_kit.base.wording import counted, joined
from hccl_kit.check.rule import SERVER_KINDS, Rule, same_for
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding
from hccl_kit.table.model import RankTable, Server
from hccl_kit.table.products import ANY_PRODUCT, Product


def card_count(table: RankTable, product: Product) -> Iterator[Finding]:
    """A server has a number of cards that the product does not support.

    What:           the number of devices of a server is not one that the product supports.
    Why it matters: the rings between the cards exist for these numbers only.
    Example:        three cards on 910, which takes 1, 2, 4 or 8.
    Fix:            take more or fewer cards; the hint names the nearest choice.
    HCCL:           EI0014, devNum "to be 1, 2 or 4, or a multiple of 8" on 910 (R25); documented only on A2.
    """
    counts = _supported_counts(table, product)
    for server in table.servers:
        count = len(server.devices)
        if counts and count and count not in counts:
            message = Message(
                "HK401.count",
                "server {server} has {cards}; {product} takes {accepted}",
                server=shown(server.id),
                cards=counted(count, "card"),
                product=product.title,
                accepted=joined(counts, "or"),
            )
            yield Finding(message, _nearest(server, product), pointer=(*server.at, "device"))


def cards_across_groups(table: RankTable, product: Product) -> Iterator[Finding]:
    """The cards of a server are in two groups, and HCCL takes them nevertheless.

    What:           a job on part of a server has cards of two groups; the documentation asks for one group.
    Why it matters: between the groups the cards connect over the host, not over their own links: slow, and not
                    supported.
    Example:        cards 0 and 4 on 910, whose groups are 0-3 and 4-7.
    Fix:            take cards of one group; the hint names the nearest choice.
    HCCL:           accepts it; for four cards it knows six such sets (R24).
    """
    for server, ids in _crossing(table, product):
        if len(ids) != len(product.groups[0]) or ids in product.parser_quads:
            message = Message(
                "HK402.groups",
                "cards {cards} of server {server} are in different groups: {groups}",
                cards=joined(ids),
                server=shown(server.id),
                groups=_groups(product),
            )
            yield Finding(message, _nearest(server, product), pointer=(*server.at, "device"))


def cards_unlinked(table: RankTable, product: Product) -> Iterator[Finding]:
    """Four cards of a server do not form a ring.

    What:           four cards that are neither one group nor one of the sets that HCCL's parser knows.
    Why it matters: HCCL refuses the table.
    Example:        cards 0, 1, 6 and 7 on 910.
    Fix:            take the cards of one group; the hint names the nearest choice.
    HCCL:           EI0014 (R24).
    """
    for server, ids in _crossing(table, product):
        if len(ids) == len(product.groups[0]) and ids not in product.parser_quads:
            message = Message(
                "HK403.ring",
                "cards {cards} of server {server} do not form a ring; the groups are {groups}",
                cards=joined(ids),
                server=shown(server.id),
                groups=_groups(product),
            )
            yield Finding(message, _nearest(server, product), pointer=(*server.at, "device"))


def unequal_servers(table: RankTable, product: Product) -> Iterator[Finding]:
    """A server has more or fewer cards than the others.

    What:           the number of devices of a server differs from that of most servers.
    Why it matters: HCCL on this product requires the same number on every server.
    Example:        eight cards on one server and four on the other.
    Fix:            take the same number of cards from every server.
    HCCL:           EI0014, DeviceNum of server Id X "... under each server node is the same" (R23).
    """
    counts = [len(server.devices) for server in table.servers if server.devices]
    supported = _supported_counts(table, product)
    if not product.equal_counts or not counts or (supported and not set(counts) <= set(supported)):
        return
    usual = Counter(counts).most_common(1)[0][0]
    for server in table.servers:
        count = len(server.devices)
        if count and count != usual:
            message = Message(
                "HK404.count",
                "server {server} has {cards}, most servers have {usual}",
                server=shown(server.id),
                cards=counted(count, "card"),
                usual=usual,
            )
            hint = Message(
                "HK404.fix", "{product} takes the same number of cards from every server", product=product.title
            )
            yield Finding(message, hint, pointer=(*server.at, "device"))


def ranks_interleaved(table: RankTable, _product: Product) -> Iterator[Finding]:
    """The ranks of a server are not consecutive.

    What:           ranks of other servers lie between the ranks of one server. Reported once for a table.
    Why it matters: the documentation asks for it: rings inside a server and between servers follow the ranks.
    Example:        ranks 0 and 2 on one server, 1 and 3 on the other.
    Fix:            number all ranks of a server before those of the next.
    HCCL:           accepts it; documented only.
    """
    in_order = list(range(table.world_size))
    if table.ranks == in_order or sorted(table.ranks) != in_order:  # HK201, HK202 have the latter
        return
    apart = [server for server in table.servers if not _is_block([device.rank for device in server.devices])]
    if apart:
        devices = sorted(apart[0].devices, key=lambda device: device.rank)
        after = next(b for a, b in pairwise(devices) if b.rank > a.rank + 1)
        message = Message(
            "HK406.apart",
            "the ranks of server {server} are not consecutive: {rank} is on another server{others}",
            server=shown(apart[0].id),
            rank=after.rank - 1,
            others=same_for(len(apart) - 1),
        )
        hint = Message("HK406.fix", "number all ranks of a server before the next")
        yield Finding(message, hint, pointer=(*after.at, "rank_id"))


def uneven_servers(table: RankTable, product: Product) -> Iterator[Finding]:
    """Servers have different numbers of cards, which the product takes.

    What:           the number of devices of a server differs from that of most servers. Reported once for a table.
    Why it matters: on A2 the job is slower; for A3 the documentation asks for the same number.
    Example:        eight cards on one server and four on the other.
    Fix:            take the same number of cards from every server.
    HCCL:           accepts it; documented only.
    """
    counts = [len(server.devices) for server in table.servers]
    supported = _supported_counts(table, product)
    if len(set(counts)) < 2 or product.equal_counts or 0 in counts or (supported and not set(counts) <= set(supported)):
        return
    usual = Counter(counts).most_common(1)[0][0]
    uneven = [server for server in table.servers if len(server.devices) != usual]
    others = Message("HK408.others", "; {count} more differ", count=len(uneven) - 1) if len(uneven) > 1 else ""
    message = Message(
        "HK408.count",
        "server {server} has {cards}, most servers have {usual}{others}",
        server=shown(uneven[0].id),
        cards=counted(len(uneven[0].devices), "card"),
        usual=usual,
        others=others,
    )
    hint = Message("HK408.fix", "take the same number of cards from every server")
    yield Finding(message, hint, pointer=(*uneven[0].at, "device"))


def nearest_supported(ids: Sequence[int], product: Product) -> tuple[int, ...] | None:
    """The cards of one server that `product` can link and that are nearest to `ids`, in ascending order.

    Nearest: as many cards, then as many of those asked for, then the least distance. Supported cards are their
    own nearest. None if the product takes any cards.
    """
    asked = set(ids)
    if not product.server_counts or not asked:
        return None
    every = tuple(range(product.max_device_id + 1))
    choices = []
    for count in product.server_counts:
        rooms = [group for group in product.groups if count <= len(group)] or [every]
        choices += [_best_of(room, count, asked) for room in rooms]

    def distance(choice: tuple[int, ...]) -> tuple[int, int, int]:
        far = sum(min(abs(card - other) for other in asked) for card in choice)
        return abs(len(choice) - len(asked)), -len(asked.intersection(choice)), far

    return min(choices, key=distance)


def _best_of(room: Sequence[int], count: int, asked: set[int]) -> tuple[int, ...]:
    """The `count` cards of `room` that are asked for or next to one that is."""
    return tuple(sorted(sorted(room, key=lambda card: (min(abs(card - other) for other in asked), card))[:count]))


def _supported_counts(table: RankTable, product: Product) -> tuple[int, ...]:
    return product.server_counts if len(table.servers) == 1 else product.cluster_counts


def _crossing(table: RankTable, product: Product) -> Iterator[tuple[Server, tuple[int, ...]]]:
    """Servers whose cards fit into a group but lie in several; without what other rules report."""
    for server in table.servers if product.groups else ():
        ids = tuple(sorted({device.id for device in server.devices}))
        is_valid = len(ids) == len(server.devices) and ids and ids[-1] <= product.max_device_id
        if not is_valid or len(ids) not in product.server_counts:
            continue
        if len(ids) <= len(product.groups[0]) and not any(set(ids) <= set(group) for group in product.groups):
            yield server, ids


def _nearest(server: Server, product: Product) -> Message | None:
    choice = nearest_supported([device.id for device in server.devices], product)
    if choice is None:
        return None
    return Message("check.nearest.fix", "the nearest supported choice is {cards}", cards=",".join(map(str, choice)))


def _is_block(ranks: Sequence[int]) -> bool:
    return not ranks or max(ranks) - min(ranks) == len(ranks) - 1


def _groups(product: Product) -> str:
    return joined(f"{group[0]}-{group[-1]}" for group in product.groups)


RULES = (
    Rule(
        "HK401",
        "unsupported-card-count",
        card_count,
        hccl_error="EI0014",
        by_product={"a2": "warning", "a2-box16": "warning"},  # documented, not enforced
        variables=("devNum",),
        kinds=SERVER_KINDS,
        from_manual=True,
    ),
    Rule("HK402", "cards-across-groups", cards_across_groups, severity="warning", kinds=SERVER_KINDS, from_manual=True),
    Rule("HK403", "cards-without-ring", cards_unlinked, hccl_error="EI0014", kinds=SERVER_KINDS),
    Rule(
        "HK404",
        "unequal-card-counts",
        unequal_servers,
        hccl_error="EI0014",
        variables=("DeviceNum of server Id X",),
        kinds=SERVER_KINDS,
    ),
    Rule("HK406", "interleaved-ranks", ranks_interleaved, severity="warning"),
    Rule(
        "HK408",
        "uneven-card-counts",
        uneven_servers,
        severity="warning",
        by_product={"a2": "note", "a2-box16": "note", ANY_PRODUCT: None},
        from_manual=True,
    ),
)
