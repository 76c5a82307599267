"""Every page of the documentation from its top: commands are run as they stand there, and print what the page shows."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.blocks import Block, blocks_of, commands_of, fits, with_texts
from tests.docs.pages import IN_CHINESE, IN_ENGLISH, name_of
from tests.places import FAKES, ROOT

FAMILIES = ("HCCL_", "ASCEND_", "RANK_", "DEVICE_", "MS_", "OMPI_", "PMIX_", "SLURM_", "COLUMNS", "LINES")
TOOLS = "/usr/local/Ascend/driver/tools"
"""The folder of the driver's tools on a server; here they are fakes."""
KINDS = {"console", "file", "run", "launcher", "tested", "excerpt"}
SHELL = ("bash", "console", "sh")


class Desk:
    """An empty folder of a server with eight cards, whose driver's tools are fakes on PATH."""

    def __init__(self, folder: Path) -> None:
        self.folder, cards = folder / "job", folder / "cards"
        self.folder.mkdir()
        cards.mkdir()
        for card in range(8):
            address = f"192.168.{100 + card % 4}.{101 + card // 4}"
            (cards / f"ipv4.{card}").write_text(f"ipaddr:{address}\nnetmask:255.255.255.0\n")
        environ = {name: value for name, value in os.environ.items() if not name.startswith(FAMILIES)}
        programs = Path(sys.executable).parent
        self.environ = environ | {
            "PATH": f"{FAKES}:{programs}:{environ['PATH']}",
            "FAKE_HCCN": str(cards),
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
        }

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        """The command as a user types it; both outputs in one."""
        return subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            timeout=1800,
        )

    def printed(self, line: str) -> str:
        return self.run(line).stdout.replace(str(FAKES), TOOLS).replace(f"{self.folder}/", "")


def pages() -> list[object]:
    """Those whose commands are run; the Chinese pages have the same."""
    return [
        pytest.param(page, id=name_of(page), marks=pytest.mark.train if "$ hccl-kit train" in page.read_text() else ())
        for page in IN_ENGLISH
    ]


@pytest.mark.parametrize("page", [*IN_ENGLISH, *IN_CHINESE], ids=name_of)
def test_every_block_says_how_it_is_tested(page: Path) -> None:
    blocks = blocks_of(page)
    assert len(blocks) == page.read_text(encoding="utf-8").count("\n```") / 2
    assert [block.line for block in blocks if block.kind not in KINDS and block.language in SHELL] == []
    assert [block.value for block in blocks if block.kind == "tested" and not (ROOT / block.value).exists()] == []


@pytest.mark.parametrize("page", IN_CHINESE, ids=name_of)
def test_a_translation_shows_the_same_blocks(page: Path, request: pytest.FixtureRequest) -> None:
    """But for the comments, which are translated."""
    pairs = list(zip(blocks_of(page), blocks_of(IN_CHINESE[page]), strict=True))
    if request.config.getoption("--update-golden"):
        texts = [ours.text if _code(ours) == _code(theirs) else theirs.text for ours, theirs in pairs]
        page.write_text(with_texts(page, texts), encoding="utf-8")
    assert [_code(block) for block in blocks_of(page)] == [_code(theirs) for _, theirs in pairs]


@pytest.mark.parametrize("page", IN_CHINESE, ids=name_of)
def test_a_translation_leaves_nothing_out(page: Path) -> None:
    """Headings, rows of tables and items of lists are as many as on the English page, in the same order."""
    assert _outline(page) == _outline(IN_CHINESE[page])


def test_a_row_that_is_left_out_is_seen(tmp_path: Path) -> None:
    page, other = tmp_path / "a.md", tmp_path / "b.md"
    page.write_text("# A\n\n| a | b |\n|---|---|\n| c | d |\n")
    other.write_text("# B\n\n| e | f |\n|---|---|\n| g | h |\n")
    assert _outline(page) == _outline(other)
    other.write_text("# B\n\n| e | f |\n|---|---|\n")
    assert _outline(page) != _outline(other)


def _outline(page: Path) -> list[str]:
    """The signs at the start of each heading, row and item outside of blocks of code, a row with its columns."""
    prose = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    starts = re.findall(r"^(#+ |- |[0-9]+\. |\|.*)", prose, re.MULTILINE)
    return [f"row of {start.count(' | ') + 1}" if start.startswith("|") else start for start in starts]


def _code(block: Block) -> tuple[str, str, str, str]:
    comment = r"(^|  )# .*$" if block.language != "console" else "(?!)"
    return block.language, block.kind, block.value, re.sub(comment, "", block.text, flags=re.MULTILINE)


@pytest.mark.parametrize("page", pages())
def test_what_a_page_shows_is_what_its_reader_sees(page: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    desk = Desk(tmp_path)
    update = request.config.getoption("--update-golden")
    wrong = []
    for block in blocks_of(page):
        for shown, printed in _results(desk, block):
            if not fits(shown, printed):
                wrong.append(f"block at line {block.line}: shown\n{shown}\nprinted\n{printed}")
                if update:
                    page.write_text(page.read_text(encoding="utf-8").replace(shown, printed, 1), encoding="utf-8")
    assert update or not wrong, "\n".join(wrong)


def _results(desk: Desk, block: Block) -> list[tuple[str, str]]:
    """What the block shows and what its commands print."""
    if block.kind == "file":
        path = desk.folder / block.value
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(block.text, encoding="utf-8")
        return []
    if block.kind == "run":
        done = desk.run(f"set -e\n{block.text}")
        return [] if done.returncode == 0 else [("exit code 0", f"exit code {done.returncode}\n{done.stdout}")]
    if block.kind != "console":
        return []
    return [
        (f"$ {command.line}\n{command.output}", f"$ {command.line}\n{desk.printed(command.line)}")
        for command in commands_of(block)
    ]


def test_a_wrong_page_fails(tmp_path: Path) -> None:
    """With another output, and with a command that fails."""
    page = tmp_path / "page.md"
    page.write_text("```console\n$ echo a\nb\n```\n<!-- run -->\n```bash\nfalse\n```\n")
    desk = Desk(tmp_path)
    results = [pair for block in blocks_of(page) for pair in _results(desk, block)]
    assert [fits(*pair) for pair in results] == [False, False]


def test_three_dots_stand_for_anything() -> None:
    assert fits("took ... s\n...\nend\n", "took 1.2 s\nx\ny\nend\n")
    assert fits("...\nend\n", "end\n")
    assert not fits("took ... s\n", "took 1.2 min\n")
