"""The program that asks the cards of a server for another one, over ssh: standard input has the table.

    python -m hccl_kit.preflight.cards_on_server SERVER PRODUCT PAIRS

PAIRS is "all" or "rail". It prints the answer on one line. The table was checked where the question comes from.
"""

from __future__ import annotations

import json
import sys

from hccl_kit.base.errors import KitError
from hccl_kit.preflight.card_probe import probe
from hccl_kit.preflight.card_state import to_value
from hccl_kit.preflight.on_server import node_of
from hccl_kit.remote.answering import answer_with

ALL, RAIL = "all", "rail"


def answer_of(server: str, product: str, pairs: str) -> str:
    """The answer of this machine as `server` of the table. Raises KitError if its cards cannot be asked."""
    answer = probe(node_of(server, product), all_pairs=pairs == ALL)
    if answer.error is not None:
        raise KitError("preflight.cards-not-asked", "{reason}", reason=answer.error)
    return json.dumps(to_value(answer))


if __name__ == "__main__":
    answer_with(lambda: answer_of(*sys.argv[1:]))
