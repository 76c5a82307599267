"""The program that describes or checks a server for another one, which asks over ssh.

    python -m hccl_kit.preflight.on_server machine SERVER
    python -m hccl_kit.preflight.on_server server SERVER PRODUCT [PATH]
    python -m hccl_kit.preflight.on_server cards SERVER PRODUCT PAIRS

PAIRS is "all" or "rail". For the last two, standard input has the table, which was checked where the question comes
from, and PATH is where its file should be. The answer is one line.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from hccl_kit.base.errors import KitError
from hccl_kit.check.engine import check_text
from hccl_kit.preflight import answer, card_round
from hccl_kit.preflight.card_probe import probe
from hccl_kit.preflight.machine import answer as answer_of_node
from hccl_kit.preflight.machine import this_machine
from hccl_kit.preflight.node import Node, ToolQueries
from hccl_kit.preflight.probes.this_server import find_server
from hccl_kit.remote.answering import answer_with
from hccl_kit.table.products import ANY_PRODUCT, any_product, find_product
from hccl_kit.table.reading import load

MACHINE, SERVER, CARDS = "machine", "server", "cards"
ALL, RAIL = "all", "rail"


def answer_of(kind: str, server: str, product: str = "", word: str = "") -> dict[str, Any]:
    """The answer of this machine as `server` of the table. Raises KitError."""
    if kind == MACHINE:
        return this_machine()._asdict()
    if kind == SERVER:
        return answer.to_value(answer_of_node(_node(server, product, Path(word) if word else None)))
    cards = probe(_node(server, product), all_pairs=word == ALL)
    if cards.error is not None:
        raise KitError(cards.error)
    return card_round.to_value(cards)


def _node(server: str, product: str, path: Path | None = None) -> Node:
    """This machine as `server` of the table on standard input. Raises KitError if the table did not arrive."""
    table = check_text(*load("-")).table
    if table is None:
        raise KitError("preflight.table-of-question", "the rank table of the question did not arrive in full")
    made_for = any_product() if product == ANY_PRODUCT else find_product(product)
    return Node(table, made_for, find_server(table, server), os.environ, ToolQueries(), path=path)


if __name__ == "__main__":
    answer_with(lambda: json.dumps(answer_of(*sys.argv[1:])))
