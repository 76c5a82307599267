"""Which heavy modules a program does not import for what it does not need."""

import json
import subprocess
import sys
from pathlib import Path

from tests.tables import value

CHECK = "import sys; from hccl_kit.cli.check import main; assert main(sys.argv[1:]) == 0; print(*sys.modules)"
SLOW = ("datetime", "jsonschema", "mindspore", "numpy", "signal", "socket", "textwrap", "threading", "tomllib", "yaml")
"""None of these is needed to check a valid table."""


def test_a_check_of_a_valid_table_loads_no_slow_module(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(json.dumps(value()), encoding="utf-8")
    command = [sys.executable, "-c", CHECK, "--quiet", "t.json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    loaded = set(done.stdout.split())
    assert "hccl_kit.cli.check" in loaded
    assert loaded.isdisjoint(SLOW)
