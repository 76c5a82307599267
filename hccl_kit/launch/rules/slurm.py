"""Rules HK520 to HK529: what Slurm requires of a plan."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.base.host_name import is_host
from hccl_kit.base.message import Message
from hccl_kit.base.wording import counted
from hccl_kit.check.rule import Rule
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding


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


def nodes_not_equal(plan: LaunchPlan, _table: TableFile) -> Iterator[Finding]:
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


RULES = (
    Rule("HK520", "unknown-slurm-node", no_node_of_slurm, kinds=("slurm",)),
    Rule("HK521", "uneven-slurm-tasks", nodes_not_equal, kinds=("slurm",), severity="warning"),
)
