"""Codes of the modules around HCCL: EE, EL, E1, E3, EZ; the text after most of them says more."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.cards import END_OLD, HOLDS
from hccl_kit.diagnosis.errors.row import KnownError
from hccl_kit.diagnosis.facts import Role

FIRST = "grep -h ERROR ~/ascend/log/debug/plog/plog-PID_*.log | head -3"
READ_PLOG = (
    "read the first ERROR lines of the plog of this process (PID is in the message), and run `hccl-kit explain` on them"
)
_MORE_FREE = "leave more memory free: batch size, share of the cache, HCCL_BUFFSIZE; end other processes on the card"


def page_of(
    code: str, what: str, *causes: str, role: Role = "cause", apart: str = "", fix: str = "", vague: bool = False
) -> KnownError:
    """The page of a code: what it is, and its causes, the most frequent first."""
    return KnownError(
        what,
        role=role,
        codes=(code,),
        causes=causes,
        tells_apart=apart or FIRST,
        fix=fix or READ_PLOG,
        vague=vague,
    )


ROWS: tuple[KnownError, ...] = (
    page_of(
        "EE1001",
        "an argument of a runtime call is not valid",
        "ASCEND_RT_VISIBLE_DEVICES names cards that the container does not have",
        "a card number is too high for this host",
        apart="ls /dev/davinci*; echo $ASCEND_RT_VISIBLE_DEVICES",
        fix="number the cards from 0 in containers and virtual machines",
        vague=True,
    ),
    page_of("EE4001", "a resource of the runtime is used up", "too many streams, notifies or models in one process"),
    page_of(
        "EE9999",
        "an error inside the runtime; see the text after the code",
        "the first line after the code",
        role="result",
    ),
    page_of(
        "EH9999",
        "an error inside ACL; see the text after the code",
        "the first line after the code",
        role="result",
    ),
    page_of(
        "EL0001",
        "the card does not exist for this process, or is abnormal",
        "the container lacks /dev/davinciN",
        "the mask of visible cards names another one",
        "the card was lost: the lines below say `lost heartbeat` or 507010",
        apart="ls /dev/davinci*; npu-smi info; npu-smi info -t health -i N",
        fix="if the card is missing, start the container with the devices that `hccl-kit container TABLE` prints; if it"
        " was lost, reset it",
        vague=True,
    ),
    page_of(
        "EL0003",
        "an argument of a driver call is not valid",
        "a card number that does not exist",
        "a card that another container holds, or that this user may not open",
        apart=f"{FIRST}; ls -l /dev/davinci*; npu-smi info on the host",
        vague=True,
    ),
    page_of(
        "EL0004",
        "the memory of the card is used up",
        "another process holds memory of the card: it fails while the card is opened (507033), or"
        " with little allocated",
        "the model, the cache or HCCL's buffers (two of HCCL_BUFFSIZE for each communicator) take all of it",
        apart="npu-smi info on the host: memory and processes of the card, before the job starts",
        fix=_MORE_FREE,
    ),
    page_of(
        "EL0005",
        "the card, or a resource of its driver, is busy",
        "another container, or a process of an earlier job, holds the card",
        apart=HOLDS,
        fix=END_OLD,
    ),
    page_of("EL9999", "an error inside the driver", "the text after the code; dmesg", role="result"),
    page_of(
        "E39007",
        "a helper process on the card did not start in time",
        "a process of an earlier job still holds the card",
        "the host is overloaded, so that the start takes too long",
        apart=HOLDS,
        fix=END_OLD,
    ),
    page_of(
        "E39999",
        "an error inside the card's process manager",
        "the text after the code; the device log",
        role="result",
    ),
    page_of("E19999", "an error inside the graph engine", "the text after the code", role="result"),
    page_of(
        "EZ9999",
        "an error inside an operator; it may wrap an error of HCCL (result 4 or 9)",
        "the text after the code: a kernel that failed, or a call to HCCL that failed",
        "an operator waited for another rank: EI0002 near it",
        role="result",
    ),
    page_of(
        "EZ1008",
        "an operator could not be prepared on the host (its shapes or its tiling); the text after it has the reason",
        "in MoE dispatch and combine: HCCL_BUFFSIZE is too small, in a line below it",
        "the shape or data type of an input is not one that the operator accepts",
        role="result",
    ),
)
