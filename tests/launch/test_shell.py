"""The parts of scripts: shell fragments, and programs for Python 3.8 without this package."""

from pathlib import Path

import pytest

from hccl_kit.launch.shell import fragment
from tests.launch.ways import assert_shellcheck
from tests.places import ROOT

SCRIPTS = ROOT / "hccl_kit" / "launch" / "scripts"


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*/*.sh")), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_fragment_begins_with_a_comment_that_is_stripped(path: Path) -> None:
    header, _, body = path.read_text(encoding="utf-8").partition("\n\n")
    assert all(line.startswith("# ") for line in header.split("\n"))
    assert "\n".join(fragment(f"{path.parent.name}/{path.stem}")) == body.rstrip("\n")
    assert_shellcheck(path)
