"""The table of the launchers: each has a row, the claims of a row match its files, and no cell is a bare "no"."""

import re
from contextlib import suppress

import pytest

from hccl_kit.base.errors import KitError
from hccl_kit.launch.emitters import LAUNCHERS, emit
from tests.launch.ways import planned, servers
from tests.places import ROOT

PAGES = ("docs/launch.md", "docs/zh/launch.md")
COLUMNS = ("--to", "sets", "restarts", "hangs", "logs", "diagnosis", "spares")
NEEDED = {
    name: {"image": "x", **({"product": "a2"} if row.needs_product else {})}
    for name, row in LAUNCHERS.items()
    if row.runs_pods
}
COMMANDS = {"vllm": ("vllm", "serve", "m")}


def rows(page: str = PAGES[0]) -> dict[str, dict[str, str]]:
    """The cells of each launcher by column."""
    text = (ROOT / page).read_text(encoding="utf-8").split("<!-- ways -->\n")[1].split("\n\n")[0]
    found = {}
    for line in text.splitlines()[2:]:
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        for launcher in re.findall(r"`(\w+)`", cells[0]):
            assert launcher not in found
            found[launcher] = dict(zip(COLUMNS, cells, strict=True))
    return found


def text_of(launcher: str) -> str:
    """All files of a launcher for two servers, and the program of pods, which they have as Base64."""
    made, file = planned(servers((2, 3), (2, 3)), *COMMANDS.get(launcher, ("python", "train.py")))
    text = "".join(one.text for one in emit(launcher, made, file, **NEEDED.get(launcher, {})))
    program = [*(ROOT / "hccl_kit" / "pod").glob("*.py")] if LAUNCHERS[launcher].runs_pods else []
    return text + "".join(path.read_text(encoding="utf-8") for path in program)


def takes_restarts(launcher: str) -> bool:
    """Whether the launcher has the option --max-restarts and does not refuse it."""
    made, file = planned(servers((2, 3), (2, 3)), "python", "train.py")
    if "max_restarts" not in {option.name for option in LAUNCHERS[launcher].options}:
        return False
    options = {**NEEDED.get(launcher, {}), **({"fixed_table": True} if launcher == "volcano" else {})}
    with suppress(KitError):
        return bool(emit(launcher, made, file, **options, max_restarts="3"))
    return False


@pytest.mark.parametrize("page", PAGES)
def test_every_launcher_has_a_row(page: str) -> None:
    assert sorted(rows(page)) == sorted(LAUNCHERS)


@pytest.mark.parametrize("page", PAGES)
def test_every_no_has_an_explanation(page: str) -> None:
    for launcher, cells in rows(page).items():
        for column, cell in cells.items():
            assert len(cell) > 3, (launcher, column)
            assert not re.match(r"(no|none|not|-|n/a|无|没有|不)\b[^:：;；]*$", cell, re.IGNORECASE), (launcher, column)


@pytest.mark.parametrize("launcher", sorted(LAUNCHERS))
def test_the_variables_of_a_row_are_in_the_files(launcher: str) -> None:
    cells, text = rows()[launcher], text_of(launcher)
    names = re.findall(r"`([A-Z_]+)`", cells["sets"])
    assert names or cells["sets"].startswith("as ")
    assert [name for name in names if name not in text] == []


@pytest.mark.parametrize("launcher", sorted(LAUNCHERS))
def test_the_features_in_a_row_are_in_the_script(launcher: str) -> None:
    cells, text = rows()[launcher], text_of(launcher)
    assert ("--max-restarts" in cells["restarts"]) == ("max_restarts" in text or takes_restarts(launcher))
    assert ("--heartbeat-timeout" in cells["hangs"]) == ("--heartbeat-timeout" in text)
    assert ("hccl_logs/" in cells["logs"]) == ("hccl_logs/" in text)
    assert (cells["diagnosis"] == "last lines of a failure") == ("diagnose() {" in text)


def test_both_languages_have_the_same_code_words() -> None:
    words = [
        [sorted(set(re.findall(r"`[^`]+`", cell))) for cells in rows(page).values() for cell in cells.values()]
        for page in PAGES
    ]
    assert words[0] == words[1]
