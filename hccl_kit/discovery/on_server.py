"""The program that lists the cards of a server for another one, which asks over ssh: as a rank table on one line.

    python -m hccl_kit.discovery.on_server SERVER IDS PRODUCT VERSION

IDS are physical ids with commas. The table is checked where the question comes from.
"""

from __future__ import annotations

import json
import sys

from hccl_kit.discovery.cards_here import cards_here
from hccl_kit.remote.answering import answer_with
from hccl_kit.table.formats import to_value
from hccl_kit.table.operations.generate import choose_version, generate_cluster
from hccl_kit.table.products import find_product


def table_of(server: str, ids: str, product: str, version: str) -> str:
    """The table of this machine as `server`. Raises KitError if it cannot have one of this version."""
    wanted = find_product(product)
    has_pods = wanted.has_super_pods and version != "1.0"
    host, _ = cards_here(server, [int(card) for card in ids.split(",")], has_pods=has_pods, report=_warn)
    choose_version([host], wanted, version)
    return json.dumps(to_value(generate_cluster([host], version=version)))


def _warn(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    answer_with(lambda: table_of(*sys.argv[1:]))
