"""The options of hccl-kit run about how the job is looked after: the fields of `agent.assignment.Limits`, and more."""

from __future__ import annotations

from hccl_kit.agent.assignment import MIB, POLICIES, Limits
from hccl_kit.agent.binding import BINDINGS
from hccl_kit.cli.options import Options, whole


def add_supervision(group: Options) -> None:
    """Add the options about checks, restarts, hangs and cores."""
    group.add_argument("--preflight", action="store_true", help="check this server first; with errors nothing starts")
    group.add_argument(
        "--max-restarts",
        metavar="N",
        type=whole("--max-restarts"),
        default=0,
        help="start the ranks again after a failure, from their last checkpoint, at most N times (default: 0)",
    )
    group.add_argument(
        "--restart-policy",
        choices=POLICIES,
        default=Limits().restart_policy,
        help="verdict: no restart after an error of the program, a spare for a broken card (default: always)",
    )
    group.add_argument(
        "--heartbeat-timeout",
        dest="heartbeat",
        metavar="S",
        type=whole("--heartbeat-timeout"),
        default=0,
        help="end the job if a rank takes no step for S seconds (default: 0, never)",
    )
    group.add_argument(
        "--bind",
        choices=BINDINGS,
        default=Limits().bind,
        help="numa: ranks run on the cores near their card; cores: on a share of their own (default: none)",
    )


def add_log_limits(group: Options) -> None:
    """Add the options about what ranks print."""
    group.add_argument(
        "--log-limit",
        metavar="MIB",
        type=lambda text: whole("--log-limit")(text) * MIB,
        default=Limits().log_limit,
        help="begin a log again at this size, and keep the one before; 0: never (default: 1024)",
    )
    group.add_argument("--prefix", action="store_true", help="show the output of all ranks, not of rank 0 only")
