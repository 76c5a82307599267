"""Run one benchmark in a process of its own: a line of JSON for each row. `python -m benchmarks` starts it."""

from __future__ import annotations

import importlib
import json
import sys
from dataclasses import asdict


def main() -> None:
    """Arguments: the module, and "full" or "quick"."""
    module, how = sys.argv[1:]
    for row in importlib.import_module(module).rows(full=how == "full"):
        print(json.dumps(asdict(row)), flush=True)


if __name__ == "__main__":
    main()
