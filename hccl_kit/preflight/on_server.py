"""The program that checks a server for another one, which asks over ssh: standard input has the table.

    python -m hccl_kit.preflight.on_server SERVER PRODUCT [PATH]

It prints the answer on one line. The table was checked where the question comes from.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

from hccl_kit.base.errors import KitError
from hccl_kit.check.engine import check_text
from hccl_kit.preflight.answer import to_value
from hccl_kit.preflight.facts import answer
from hccl_kit.preflight.node import Node
from hccl_kit.preflight.probes.this_server import find_server
from hccl_kit.preflight.tool_queries import ToolQueries
from hccl_kit.remote.answering import answer_with
from hccl_kit.table.products import ANY_PRODUCT, any_product, find_product
from hccl_kit.table.reading import load


def answer_of(server: str, product: str, path: str = "") -> str:
    """The answer of this machine as `server` of the table, whose file should be at `path`. Raises KitError."""
    return json.dumps(to_value(answer(node_of(server, product, Path(path) if path else None))))


def node_of(server: str, product: str, path: Path | None = None) -> Node:
    """This machine as `server` of the table on standard input. Raises KitError if the table did not arrive."""
    table = check_text(*load("-")).table
    if table is None:
        raise KitError("preflight.table-of-question", "the rank table of the question did not arrive in full")
    made_for = any_product() if product == ANY_PRODUCT else find_product(product)
    return Node(table, made_for, find_server(table, server), os.environ, ToolQueries(), path=path)


if __name__ == "__main__":
    answer_with(lambda: answer_of(*sys.argv[1:]))
