"""Rules HK530 to HK549: what Kubernetes requires of a plan, and which choices of a rank table it ignores."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.base.message import Message
from hccl_kit.base.wording import counted, listed, plural
from hccl_kit.check.rule import Rule
from hccl_kit.launch.emitters import LAUNCHERS, manifest
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import LaunchPlan, Node
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding

KINDS = tuple(name for name, row in LAUNCHERS.items() if row.runs_pods)


def nodes_not_equal(plan: LaunchPlan, _table: TableFile) -> Iterator[Finding]:
    """Two servers have different numbers of cards.

    What:           the pods of a job would have different numbers of cards.
    Why it matters: they are made from one template, and the ranks are numbered by its cards.
    Example:        8 cards of the first server and 4 of the second.
    Fix:            take the same number of cards on every server, or start the job with bash or Slurm.
    HCCL:           no code; ranks would be missing, and the job would not form (EI0006, EI0015).
    """
    first, *others = plan.nodes
    for node in others:
        if len(node.workers) != len(first.workers):
            this, other = map(_card_count, (node, first))
            message = Message(
                "HK530.cards", "{this}, {other}; all pods of a job need the same number", this=this, other=other
            )
            yield Finding(
                message, Message("HK530.cards.fix", "use the same number of cards on every server, or --to bash")
            )
            return


def choice_not_kept(plan: LaunchPlan, _table: TableFile) -> Iterator[Finding]:
    """The table selects cards or an order of ranks that the cluster ignores.

    What:           the table leaves out the first cards of a server, or its ranks are not numbered server by server.
    Why it matters: Kubernetes gives a pod any cards that are free, of any server, and its ranks are numbered pod by
                    pod. Of the table it uses the numbers of servers and cards only.
    Example:        cards 4 to 7 of a server, while the cluster may give the pod cards 0 to 3.
    Fix:            not needed if any cards will do. For these cards, start the job with bash or Slurm.
    HCCL:           no code.
    """
    rank = 0
    for node in plan.nodes:
        count = len(node.workers)
        if node.devices != tuple(range(count)):
            yield Finding(
                Message(
                    "HK531.cards",
                    "server {server} has {cards}; the cluster selects the cards",
                    server=shown(node.id),
                    cards=_cards(node.devices),
                )
            )
            return
        if node.ranks != tuple(range(rank, rank + count)):
            yield Finding(
                Message("HK531.ranks", "the ranks are not numbered server by server, as the cluster numbers them")
            )
            return
        rank += count


def table_too_large(plan: LaunchPlan, table: TableFile) -> Iterator[Finding]:
    """The rank table does not fit into a ConfigMap.

    What:           the table, without whitespace, is larger than 1 MiB.
    Why it matters: a ConfigMap holds no more, so the Ascend Operator could not write a table for as many cards.
    Example:        a table of version 1.0 with about 15,000 devices.
    Fix:            start an AscendJob, which needs no table; or give the pods this table (--fixed-table), which is
                    compressed; or start the job with bash or Slurm.
    HCCL:           no code; the pods would wait for the table until they time out.
    """
    size = len(manifest.compact(table.text).encode())
    if size > manifest.MAX_MAP:
        yield Finding(
            Message(
                "HK532.size",
                "the rank table for {size} ranks has {bytes} bytes without whitespace; a ConfigMap holds {max_map}",
                size=plan.size,
                bytes=size,
                max_map=manifest.MAX_MAP,
            ),
            Message(
                "HK532.size.fix",
                "use --to ascendjob, which needs no table, or --fixed-table, which compresses this one",
            ),
        )


def _card_count(node: Node) -> Message:
    cards = counted(len(node.workers), "card")
    return Message("launch.card-count", "server {server} has {cards}", server=shown(node.id), cards=cards)


def _cards(devices: tuple[int, ...]) -> Message:
    noun = plural("card", len(devices))
    return Message("launch.card-ids", "{noun} {ids}", noun=noun, ids=listed(devices, 16))


RULES = (
    Rule("HK530", "unequal-pods", nodes_not_equal, kinds=KINDS),
    Rule("HK531", "ignored-card-choice", choice_not_kept, kinds=KINDS, severity="warning"),
    Rule("HK532", "table-too-large-for-configmap", table_too_large, kinds=("volcano",)),
)
