"""The table of rich: it fits any terminal, and text of ranks is not parsed as markup."""

from pathlib import Path

import pytest
from rich.console import Console

from hccl_kit.watch.look import Folder
from hccl_kit.watch.screen import drawn
from hccl_kit.watch.view import WatchedJob
from tests.watch.made import HOSTILE, facts, run


def lines(job: WatchedJob, width: int, height: int) -> list[str]:
    console = Console(width=width, height=height, markup=False, highlight=False, color_system=None, force_terminal=True)
    with console.capture() as capture:
        console.print(drawn(job, height=height, width=width))
    return capture.get().split("\n")


def test_shows_ranks_shares_and_the_straggler(tmp_path: Path) -> None:
    found = lines(Folder(run(tmp_path, 4, slow=2)).look(), 140, 40)
    assert found[0].rstrip().endswith("running, 4 ranks, step 40, 4.55 steps/s, loss 1.5")
    assert found[1].startswith("rank 2 (n0, card 2) slows down the others since step 1, by its compute: ")
    slow = next(line for line in found if line.split()[:2] == ["2", "n0"])
    assert slow.split() == [
        *("2", "n0", "2", "running", "40", *slow.split()[5:7], "3.12", "0.21", "s"),
        *("\N{FULL BLOCK}" * 12, "5%", "91%", "5%", "1.5", "512", "MiB"),
    ]
    assert "rank 2, last log line: step of rank 2" in "\n".join(found)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (60, 10), (200, 60)])
def test_the_table_fits_the_terminal(tmp_path: Path, width: int, height: int) -> None:
    found = lines(Folder(run(tmp_path, 100)).look(), width, height)
    assert max(map(len, found)) <= width
    assert len(found) <= max(height, 18)
    assert any("more ranks" in line for line in found)


def test_text_of_a_rank_is_not_parsed_as_markup(tmp_path: Path) -> None:
    run(tmp_path, 2)
    facts(tmp_path, 0, ranks=2, ended=HOSTILE[:38])
    (tmp_path / "rank_0.log").write_bytes(HOSTILE.encode("utf-8", "replace"))
    text = "\n".join(lines(Folder(tmp_path).look(), 200, 40))
    assert "[red]x[/red]" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
