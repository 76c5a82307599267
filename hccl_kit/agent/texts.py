"""What the agent says to the user: templates by id, in English; its starter may send others with the assignment.

Not here is what other programs read, which is always English: the logs of ranks, and the notes of a server.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    Texts = Mapping[str, str]
    """Templates in another language by id; what is missing is English."""

TEXTS = {
    "agent.ranks": "ranks {first} to {last} on devices {cards} of {host}",
    "agent.ranks-and-scheduler": "ranks {first} to {last} on devices {cards} and the scheduler of {host}",
    "agent.scheduler": "the scheduler of {host}",
    "agent.between-facts": ", ",
    "agent.port": "port {port}",
    "agent.logs": "logs in {folder}",
    "agent.rank-failed": "error: rank {rank} on device {card} of {host} failed with {status}",
    "agent.scheduler-failed": "error: scheduler of {host} failed with {status}",
    "agent.exit-code": "exit code {code}",
    "agent.killed": "exit code {code} ({signal})",
    "agent.rank-still": "error: rank {rank} on device {card} of {host} took no step for {seconds} s after step {step}",
    "agent.between-ranks": ", ",
    "agent.ranks-still": "error: ranks {ranks} of {host} took no step for {seconds} s after step {step}",
    "agent.no-steps": "note: no rank has counted a step in {seconds} s; --heartbeat-timeout ends the job only after a"
    " step: hccl_kit.Heartbeat in the program counts them",
    "agent.traceback-above": "its traceback is above, and in {log}",
    "agent.lines-above": "its last lines are above, and in {log}",
    "agent.traceback": "its traceback, from {log}:",
    "agent.lines": "the end of {log}:",
    "agent.log-of-host": "{log} of {host}",
    "agent.no-logs": "the log folder was removed: {folder}",
    "agent.lost-bytes": "{number} bytes of the logs are lost: {folder}: {reason}",
    "agent.ended": "ended by {signal}; logs in {folder}",
    "agent.unkillable": "note: a process of a rank survives SIGKILL: it hangs in a driver",
    "agent.restart": "restart {number} of {most} in {seconds} s",
    "agent.no-progress": "giving up after restart {number}: no progress (step {step}, previously step {before})",
    "agent.not-restarted": "not restarted: {reason}",
    "agent.not-shown": "[{number} bytes are not shown: the screen was too slow; see the log]",
    "agent.port-in-use": "port {port} cannot be bound on this host (in use, or below 1024 without privileges)",
    "agent.no-port": "{number} random ports of {first} to {last} cannot be bound on this host (in use, or below 1024"
    " without privileges)",
    "agent.no-folder": "{host} has no folder {folder} ({reason})"
    "\n  fix: the programs of a job are at the same path on every server",
    "agent.cannot-log": "cannot make the log folder {folder} on {host}: {reason}",
    "agent.of-user": "the folder {folder} belongs to user {user}, who may replace the files of this job",
    "agent.of-group": "group {group} may write to the folder {folder}, and replace the files of this job",
    "agent.of-other": "the folder {folder} belongs to another user, who may replace the logs of a job",
    "agent.of-other.fix": "start in a folder of your own",
    "agent.of-all": "every user may write to the folder {folder}, and replace the logs of a job",
    "agent.of-all.fix": "chmod o-w {folder}, or start in a folder of your own",
    "agent.unsafe": "{what}\n  fix: {fix}",
    "agent.one-node": "not bound: this server has one NUMA node",
    "agent.cores": "cores {lists} ({notes})",
    "agent.any-core": "any",
    "agent.between-notes": "; ",
    "agent.near": "near the cards, by npu-smi",
    "agent.divided": "NUMA nodes divided evenly among {number} cards: npu-smi names no cores for them",
    "agent.no-near-core": "card {card}: this process may use no core near it",
    "agent.shared": "shared: fewer cores than cards",
}
"""The end of an id names its message; those of rank-failed, rank-still and ranks-still are read by `diagnose` too."""
ENGLISH: Texts = {}


def phrase(texts: Texts, id_: str, /, **values: object) -> str:
    """The text with this id in the language of `texts`."""
    return texts.get(id_, TEXTS[id_]).format(**values)
