"""The program that describes a machine for another one, which asks over ssh: on one line.

python -m hccl_kit.preflight.machine_on_server
"""

from __future__ import annotations

import json

from hccl_kit.preflight.machine import this_machine
from hccl_kit.remote.answering import answer_with

if __name__ == "__main__":
    answer_with(lambda: json.dumps(this_machine()._asdict()))
