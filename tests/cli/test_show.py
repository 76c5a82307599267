"""hccl-kit show as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.places import ROOT
from tests.program import kit
from tests.tables import text

SHOW = (sys.executable, "-m", "hccl_kit.cli.kit", "show")


def show(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return kit("show", *arguments, cwd=cwd, variables={"COLUMNS": "60"})


def test_a_valid_table_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text())
    done = show("t.json", "--product", "910", "-o", "t.svg", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "    rank 0 1 2 3 | 4 5 6 7\nwrote: t.svg\n" in done.stdout
    assert ElementTree.parse(tmp_path / "t.svg").getroot().tag.endswith("svg")


def test_a_table_with_errors_is_drawn_and_exit_1(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text().replace('"rank_id": "7"', '"rank_id": "6"'))
    done = show("t.json", cwd=tmp_path)
    assert done.returncode == 1
    assert "card 7: HK201" in done.stdout


def test_a_file_that_is_not_a_table_is_reported_and_exit_1(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text("[")
    done = show("t.json", cwd=tmp_path)
    assert done.returncode == 1
    assert "HK001" in done.stdout
    waiting = text().replace('"completed"', '"initializing"')
    (tmp_path / "t.json").write_text(waiting)
    done = show("t.json", "-o", "t.svg", cwd=tmp_path)
    assert done.returncode == 1
    assert "HK109" in done.stdout
    assert not (tmp_path / "t.svg").exists()


def test_a_file_that_cannot_be_read_or_written_is_exit_2(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text())
    assert show("missing.json", cwd=tmp_path).returncode == 2
    done = show("t.json", "-o", "no/folder/t.svg", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: -o: the folder no/folder does not exist\n  fix: mkdir -p no/folder\n"


def test_the_drawing_is_written_if_the_reader_of_the_output_ends(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(
        json.dumps(
            {
                "version": "1.0",
                "server_list": [
                    {
                        "server_id": f"n{n}",
                        "device": [
                            {"device_id": str(n % 8), "device_ip": f"10.0.{n // 250}.{n % 250 + 1}", "rank_id": str(n)}
                        ],
                    }
                    for n in range(1000)
                ],
                "status": "completed",
            }
        )
    )
    environ = os.environ | {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen([*SHOW, "t.json", "-o", "t.svg"], cwd=tmp_path, env=environ, stdout=subprocess.PIPE) as done:
        assert done.stdout
        done.stdout.close()
    assert done.returncode == 141
    assert (tmp_path / "t.svg").exists()


def test_an_existing_drawing_is_not_overwritten_without_force(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text())
    (tmp_path / "t.svg").write_text("mine")
    done = show("t.json", "-o", "t.svg", cwd=tmp_path)
    assert (done.returncode, done.stderr.startswith("error: t.svg exists with other content")) == (2, True)
    assert (tmp_path / "t.svg").read_text() == "mine"
    assert show("t.json", "-o", "t.svg", "--force", cwd=tmp_path).returncode == 0
    assert "unchanged: t.svg" in show("t.json", "-o", "t.svg", cwd=tmp_path).stdout


@pytest.mark.parametrize("arguments", [("-o", "t.json"), ("--width", "19")], ids=" ".join)
def test_an_invalid_argument_is_exit_2(arguments: tuple[str, str], tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text())
    done = show("t.json", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert arguments[1] in done.stderr
    assert (tmp_path / "t.json").read_text() == text()


def test_lines_fit_the_terminal_or_the_given_width(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text(1, 4))
    assert "addr" not in show("t.json", cwd=tmp_path).stdout
    assert "addr" in show("t.json", "--width", "80", cwd=tmp_path).stdout
