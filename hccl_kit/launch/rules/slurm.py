"""Rules HK520 to HK529: what Slurm asks of a plan."""

from __future__ import annotations

from collections.abc import Iterator

from hccl_kit.base.host_name import is_host
from hccl_kit.check.rule import Rule
from hccl_kit.launch.files import TableFile
from hccl_kit.launch.plan import LaunchPlan
from hccl_kit.table.document import shown
from hccl_kit.table.finding import Finding


def no_node_of_slurm(plan: LaunchPlan, _table: TableFile) -> Iterator[Finding]:
    """A server has a name that no node of Slurm has.

    What:           of several servers, one has a `server_id` that is neither an address nor a host name, and no
                    `host_ip`.
    Why it matters: every node finds out which server it is by its name in Slurm, its host name and its addresses.
    Example:        server_id "rack 1, left".
    Fix:            write the host's address or name as `server_id`, or add it as `host_ip`.
    HCCL:           no code; the job does not start.
    """
    for node in plan.nodes if len(plan.nodes) > 1 else ():
        if not is_host(node.address):
            yield Finding(
                f"server {shown(node.id)} is neither a node of Slurm nor a host name or address",
                'add "host_ip" to it in the table: the address of the host',
            )
            return


def nodes_not_equal(plan: LaunchPlan, _table: TableFile) -> Iterator[Finding]:
    """Two servers have different numbers of ranks.

    What:           the servers of the table do not have equally many ranks.
    Why it matters: Slurm asks for the same on every node: as many tasks as the largest server has ranks. Those that are
                    too many end at once, but their CPUs are reserved, and a --gres counts for each node.
    Example:        8 ranks on the first server and 4 on the second, which is asked for 8 tasks as well.
    Fix:            nothing, where the nodes have so many CPUs; else take equally many cards on every server.
    HCCL:           no code; where a node is too small, sbatch refuses the job.
    """
    counts = [len(node.workers) for node in plan.nodes]
    if min(counts) < max(counts):
        few, many = (plan.nodes[counts.index(number)].id for number in (min(counts), max(counts)))
        yield Finding(
            f"server {shown(few)} has {min(counts)} ranks and server {shown(many)} {max(counts)}: "
            f"Slurm is asked for {max(counts)} tasks on every node"
        )


RULES = (
    Rule("HK520", "unknown-slurm-node", no_node_of_slurm, kinds=("slurm",)),
    Rule("HK521", "uneven-slurm-tasks", nodes_not_equal, kinds=("slurm",), severity="warning"),
)
