"""A fake MindSpore that records its calls: one line of JSON per call, with the environment of the call.

FAKE_CALLS names the file, FAKE_WORLD the "rank size" that it reports.
"""

import json
import os
from pathlib import Path
from typing import Any

CONTRACT = ("RANK_TABLE_FILE", "RANK_ID", "DEVICE_ID", "RANK_SIZE")


def record(name: str, *args: Any) -> None:
    environ = {key: os.environ[key] for key in CONTRACT if key in os.environ}
    with Path(os.environ["FAKE_CALLS"]).open("a", encoding="utf-8") as file:
        file.write(json.dumps({"call": [name, *args], "environ": environ}) + "\n")


def set_device(target: str, device_id: int = 0) -> None:
    record("set_device", target, device_id)
