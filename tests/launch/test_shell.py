"""The parts of scripts: shell fragments, and what stands in them for the texts of a job."""

import re
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
    itself = {key: f"__{key}__" for key in re.findall("__([a-z_]+)__", body)}
    assert "\n".join(fragment(f"{path.parent.name}/{path.stem}", **itself)) == body.rstrip("\n")
    assert_shellcheck(path)


def test_a_word_stands_for_a_text_or_on_a_line_of_its_own_for_lines() -> None:
    text = r"a __mounts__ \1"
    assert [*fragment("slurm/apptainer", image=text)][1] == f'    {text} "${{hk_command[@]}}")'
    itself = {key: f"__{key}__" for key in re.findall("__([a-z_]+)__", (SCRIPTS / "mpirun" / "script.sh").read_text())}
    plain = [*fragment("mpirun/script", **itself)]
    at = plain.index("    __of_rank__")
    for lines, written in (([], []), (["a\nb", "c"], ["    a", "    b", "    c"])):
        made = "\n".join(fragment("mpirun/script", **{**itself, "of_rank": lines})).split("\n")
        assert made == [*plain[:at], *written, *plain[at + 1 :]]
