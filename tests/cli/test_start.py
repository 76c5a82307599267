"""Which slow modules a program does not import for what it does not need."""

import json
import subprocess
import sys
from pathlib import Path

from hccl_kit.cli.kit import GROUPS
from tests.tables import text
from tests.watch.made import run

PROGRAM = """
import json, sys
from hccl_kit.cli.kit import main
for words in json.loads(sys.argv[1]):
    try:
        main(words)
    except SystemExit as end:
        assert end.code == 0
    print(*sys.modules, file=sys.stderr)
"""
CHECK = ("check", "--quiet", "t.json")
OTHERS = (("rules",), ("gen", "--help"), ("run", "--help"), ("watch", "run", "--once"))
TRAINING = [(verb, "--help") for verb in GROUPS["training"] if verb != "convert-dataset"]  # which imports numpy
STANDARD = {"datetime", "signal", "socket", "textwrap", "threading", "tomllib"}
"""None of these is needed to check a valid table."""
HEAVY = {"mindspore", "mpi4py", "numpy", "torch", "rich", "shtab", "cv2", "tqdm"}


def test_programs_load_no_slow_modules(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text())
    run(tmp_path / "run")
    command = [sys.executable, "-c", PROGRAM, json.dumps([CHECK, *OTHERS, *TRAINING])]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    after_check, *loaded = (set(line.split()) for line in done.stderr.splitlines())
    after_others, after_all = loaded[len(OTHERS) - 1], loaded[-1]
    assert "hccl_kit.cli.check" in after_check
    assert not [name for name in after_check if "preflight" in name or "catalogue" in name]
    assert after_check.isdisjoint(STANDARD)
    assert "hccl_kit.cli.watch" in after_others
    assert after_others.isdisjoint({"jsonschema", "yaml"})
    assert "hccl_kit.ocr.programs.train" in after_all
    assert after_all.isdisjoint(HEAVY)
