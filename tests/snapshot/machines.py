"""Machines as snapshots describe them."""

from typing import Any

from hccl_kit.preflight.machine import Machine

CARD = {"chip": "910B3", "health": "OK", "link": "UP", "HBM Double Bit Error Count": "0"}


def machine(count: int = 8, **changes: Any) -> Machine:
    """A healthy server of A2 with `count` cards; `changes` are added to its sections."""
    made = Machine(
        host="<host 1>",
        versions={"driver": "25.2.0", "firmware": "7.8.0.1.231", "cann": "8.5.0", "torch": "2.9.0"},
        cards={str(card): CARD for card in range(count)},
        variables={"HCCL_BUFFSIZE": "200", "TERM": "xterm"},
        settings={"vm.swappiness": "60"},
        packages={"attrs": "23.2.0", "einops": "0.8.0"},
    )
    sections: dict[str, Any] = {name: {**getattr(made, name), **change} for name, change in changes.items()}
    return made._replace(**sections)
