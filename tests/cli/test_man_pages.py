"""The manual pages are current, and programs that render them report no warning."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hccl_kit.cli.kit import VERBS
from tests.places import ROOT

FOLDER = ROOT / "man"


def test_the_pages_are_generated_from_the_current_options(tmp_path: Path, pytestconfig: pytest.Config) -> None:
    folder = FOLDER if pytestconfig.getoption("update_golden") else tmp_path
    subprocess.run([sys.executable, "scripts/man_pages.py", str(folder)], cwd=ROOT, check=True)
    written, kept = ({path.name: path.read_text() for path in each.glob("*")} for each in (folder, FOLDER))
    assert written.keys() == kept.keys()
    assert len(kept) == len(VERBS) + 1
    assert [name for name in kept if written[name] != kept[name]] == [], "python scripts/man_pages.py"


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_every_page_is_shown_without_warnings() -> None:
    for path in FOLDER.glob("*.1"):
        command = ["groff", "-man", "-Tutf8", "-P-cbu", "-ww", "-K", "utf8", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stderr == "", path
        for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "SEE ALSO"):
            assert heading in done.stdout, path
