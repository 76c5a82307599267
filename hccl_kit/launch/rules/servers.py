"""Rules HK501 to HK529: what mpirun, msrun, vLLM and Slurm require of a plan, and which addresses the ranks need."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.base.host_name import is_host
from hccl_kit.base.message import Message
from hccl_kit.base.wording import counted, listed
from hccl_kit.check.rule import Rule
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import LaunchPlan, Node
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding


def cards_differ(plan: LaunchPlan, _table: TableFile) -> Iterator[Finding]:
    """Two nodes use different cards.

    What:           mpirun is to start ranks on nodes whose physical device ids are not the same. A smaller node may use
                    the first cards of the largest.
    Why it matters: the ranks find their cards by ASCEND_RT_VISIBLE_DEVICES, which mpirun sets to the same value on all
                    nodes.
    Example:        cards 0 to 3 of the first node, and 4 to 7 of the second.
    Fix:            take the same cards on every node, or start the job with bash or Slurm, which give each rank its
                    own.
    HCCL:           no code; a rank opens a card that another job may be using (EJ0001).
    """
    largest = max(plan.nodes, key=lambda node: len(node.devices))
    for node in plan.nodes:
        if node.devices != largest.devices[: len(node.devices)]:
            message = Message(
                "HK501.cards",
                "{cards}, {largest}; mpirun needs the same cards on every node",
                cards=_cards(node),
                largest=_cards(largest),
            )
            yield Finding(message, Message("HK501.cards.fix", "use the same cards on every node, or --to bash"))
            return


def cards_not_ascending(plan: LaunchPlan, _table: TableFile) -> Iterator[Finding]:
    """The cards of a node do not ascend with its ranks.

    What:           a lower rank of a node has a card with a higher physical id.
    Why it matters: mpirun, msrun and vLLM give local rank i the i-th visible card, and ASCEND_RT_VISIBLE_DEVICES must
                    ascend.
    Example:        rank 0 on card 1 and rank 1 on card 0.
    Fix:            number the ranks by device id, or start the job with bash, which gives each rank its own card.
    HCCL:           no code; the ranks would use each other's cards.
    """
    for node in plan.nodes:
        if list(node.devices) != sorted(node.devices):
            yield Finding(
                Message(
                    "HK502.ranks",
                    "{cards} for ranks {ranks}; this launcher gives local rank i the i-th card",
                    cards=_cards(node),
                    ranks=listed(node.ranks, 16),
                ),
                Message(
                    "HK502.ranks.fix", "generate the table again with hccl-gen, which numbers by card, or use --to bash"
                ),
            )
            return


def nodes_not_equal(plan: LaunchPlan, _table: TableFile) -> Iterator[Finding]:
    """Two nodes have different numbers of ranks.

    What:           msrun is to start a job whose nodes have different numbers of ranks.
    Why it matters: msrun numbers the ranks of a node from node_rank times its own local_worker_num on.
    Example:        8 ranks on the first node and 4 on the second, whose ranks would be 4 to 7 and not 8 to 11.
    Fix:            take the same number of cards on every node, or start the job with bash, mpirun or Slurm.
    HCCL:           no code; two ranks would have one number, and the job would not form.
    """
    first, *others = plan.nodes
    for node in others:
        if len(node.workers) != len(first.workers):
            this, other = map(_rank_count, (node, first))
            message = Message(
                "HK503.ranks", "{this}, {other}; msrun needs the same number on every node", this=this, other=other
            )
            hint = Message("HK503.ranks.fix", "use the same number of cards on every node, or --to bash or --to mpirun")
            yield Finding(message, hint)
            return


def ranks_not_together(plan: LaunchPlan, _table: TableFile) -> Iterator[Finding]:
    """The ranks of a node are not consecutive.

    What:           a rank of another node lies between two ranks of one node.
    Why it matters: mpirun and msrun number the ranks node by node.
    Example:        ranks 0 and 2 on the first node, 1 and 3 on the second.
    Fix:            number the ranks node by node, or start the job with bash, which gives each rank its number.
    HCCL:           no code; ranks would run on other nodes and cards than the table says.
    """
    for node in plan.nodes:
        if node.ranks != tuple(range(node.ranks[0], node.ranks[0] + len(node.ranks))):
            yield Finding(
                Message(
                    "HK504.ranks",
                    "server {server} has ranks {ranks}; this launcher numbers ranks node by node",
                    server=shown(node.id),
                    ranks=listed(node.ranks, 16),
                ),
                Message("HK504.ranks.fix", "hccl-merge numbers the ranks server by server, or use --to bash"),
            )
            return


def no_way_to_rank_0(plan: LaunchPlan, _table: TableFile) -> Iterator[Finding]:
    """The node of rank 0 has no address that the others can reach.

    What:           of several nodes, that of rank 0 has a `server_id` that is neither address nor host name, and no
                    `host_ip`.
    Why it matters: the ranks connect to it, at MASTER_ADDR.
    Example:        server_id "rack 1, left".
    Fix:            write the host's address as `server_id`, or add it as `host_ip`.
    HCCL:           no code; the other ranks wait for rank 0 until they time out (EI0006, EI0015).
    """
    if len(plan.nodes) > 1 and not is_host(plan.nodes[0].address):
        yield _unreachable(
            plan.nodes[0], Message("launch.mpi.to-rank-0", "the others must reach it, since it has rank 0")
        )


def no_way_to_a_node(plan: LaunchPlan, _table: TableFile) -> Iterator[Finding]:
    """A node has no address that mpirun can reach.

    What:           of several nodes, one has a `server_id` that is neither address nor host name, and no `host_ip`.
    Why it matters: mpirun starts its ranks there over ssh.
    Example:        server_id "rack 1, left".
    Fix:            write the host's address as `server_id`, or add it as `host_ip`.
    HCCL:           no code; the job does not start.
    """
    for node in plan.nodes if len(plan.nodes) > 1 else ():
        if not is_host(node.address):
            yield _unreachable(node, Message("launch.mpi.to-node", "mpirun must reach it by ssh"))
            return


def no_node_of_slurm(plan: LaunchPlan, _table: TableFile) -> Iterator[Finding]:
    """A server id is not a possible Slurm node name.

    What:           of several servers, one has a `server_id` that is neither an address nor a host name, and no
                    `host_ip`.
    Why it matters: every node finds its server by its Slurm node name, its host name and its addresses.
    Example:        server_id "rack 1, left".
    Fix:            write the host's address or name as `server_id`, or add it as `host_ip`.
    HCCL:           no code; the job does not start.
    """
    for node in plan.nodes if len(plan.nodes) > 1 else ():
        if not is_host(node.address):
            message = Message(
                "HK520.name", "server {server} is not a Slurm node, a host name or an address", server=shown(node.id)
            )
            yield Finding(
                message, Message("HK520.name.fix", 'add "host_ip" to it in the table: the address of the host')
            )
            return


def slurm_nodes_not_equal(plan: LaunchPlan, _table: TableFile) -> Iterator[Finding]:
    """Two servers have different numbers of ranks.

    What:           the servers of the table have different numbers of ranks.
    Why it matters: Slurm starts the same number of tasks on every node: as many as the largest server has ranks. The
                    extra ones end at once, but their CPUs are reserved, and a --gres counts for each node.
    Example:        8 ranks on the first server and 4 on the second, which is asked for 8 tasks as well.
    Fix:            none if the nodes have enough CPUs; else --hetjob, which asks each node for its own number, or take
                    the same number of cards on every server.
    HCCL:           no code; sbatch refuses the job if a node is too small.
    """
    counts = [len(node.workers) for node in plan.nodes]
    if min(counts) < max(counts):
        few, many = (plan.nodes[counts.index(number)].id for number in (min(counts), max(counts)))
        yield Finding(
            Message(
                "HK521.ranks",
                "server {few} has {count} and server {many} {most}: Slurm is asked for {most} tasks on every node",
                few=shown(few),
                count=counted(min(counts), "rank"),
                many=shown(many),
                most=max(counts),
            ),
            Message("HK521.ranks.fix", "--hetjob asks each node for its own number"),
        )


def _unreachable(node: Node, why: str) -> Finding:
    message = Message(
        "launch.mpi.unreachable",
        "server {server} is neither an address nor a host name; {why}",
        server=shown(node.id),
        why=why,
    )
    return Finding(
        message, Message("launch.mpi.unreachable.fix", 'add "host_ip", an address of that host, to it in the table')
    )


def _rank_count(node: Node) -> Message:
    ranks = counted(len(node.workers), "rank")
    return Message("launch.rank-count", "server {server} has {ranks}", server=shown(node.id), ranks=ranks)


def _cards(node: Node) -> Message:
    cards = listed(node.devices, 16)
    return Message("launch.cards-of-server", "server {server} has cards {cards}", server=shown(node.id), cards=cards)


RULES = (
    Rule("HK501", "different-cards", cards_differ, kinds=("mpirun",)),
    Rule("HK502", "card-order", cards_not_ascending, kinds=("mpirun", "msrun", "vllm")),
    Rule("HK503", "unequal-rank-counts", nodes_not_equal, kinds=("msrun",)),
    Rule("HK504", "scattered-ranks", ranks_not_together, kinds=("mpirun", "msrun")),
    Rule("HK505", "unreachable-rank-0", no_way_to_rank_0, kinds=("bash", "msrun", "slurm")),
    Rule("HK506", "unreachable-node", no_way_to_a_node, kinds=("mpirun",)),
    Rule("HK520", "unknown-slurm-node", no_node_of_slurm, kinds=("slurm",)),
    Rule("HK521", "uneven-slurm-tasks", slurm_nodes_not_equal, kinds=("slurm",), severity="warning"),
)
