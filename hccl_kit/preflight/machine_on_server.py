"""The program that describes a machine for another one, which asks over ssh: on one line.

python -m hccl_kit.preflight.machine_on_server
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from hccl_kit.preflight.machine import machine_of, node_of_all_cards
from hccl_kit.remote.answering import answer_with

if __name__ == "__main__":
    answer_with(lambda: json.dumps(machine_of(node_of_all_cards(Path("/"), os.environ))._asdict()))
