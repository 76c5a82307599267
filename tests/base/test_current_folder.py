"""Programs and modules of the current folder are left out of what a program of ours starts."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hccl_kit.base.current_folder import NOTE, leave_out


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"PATH": "/a:/b"}, {"PATH": "/a:/b"}),
        ({"PATH": "/a:"}, {"PATH": "/a"}),
        ({"PATH": ".:/a::b"}, {"PATH": "/a"}),
        ({"PATH": ":"}, {"PATH": os.defpath}),
        ({"PATH": ""}, {"PATH": ""}),
        ({"PYTHONPATH": "/a:"}, {"PYTHONPATH": "/a"}),
        ({"PYTHONPATH": "."}, {"PYTHONPATH": ""}),
        ({}, {}),
    ],
)
def test_empty_and_relative_parts_are_removed(given: dict[str, str], kept: dict[str, str]) -> None:
    changed = [name for name in given if given[name] != kept[name]]
    assert leave_out(given) == changed
    assert given == kept


def test_a_tool_in_the_current_folder_is_not_asked(tmp_path: Path) -> None:
    tool = tmp_path / "hccn_tool"
    tool.write_text(f"#!/bin/sh\ntouch {tmp_path / 'ran_here'}\n")
    tool.chmod(0o755)
    done = subprocess.run(
        [Path(sys.executable).with_name("hccl-kit"), "gen", "--device_num", "[0,1)"],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{os.defpath}:"},
    )
    assert done.returncode == 2
    assert done.stderr.startswith(f"{NOTE}\n")
    assert not (tmp_path / "ran_here").exists()
