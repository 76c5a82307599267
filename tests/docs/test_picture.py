"""The picture of the README is the current output of `hccl-kit show`."""

from pathlib import Path

import pytest

from hccl_kit.cli.kit import main
from hccl_kit.table import formats
from hccl_kit.table.operations.generate import generate
from hccl_kit.table.operations.merge import merge
from tests.docs.pages import DOCS

PICTURE = DOCS / "images" / "servers.svg"


def test_the_picture_is_current(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """Two servers of eight cards, with a duplicate rank on the second."""
    servers = [
        generate(f"10.0.0.{host}", [(card, f"192.168.{100 + card % 4}.{2 * host + card // 4}") for card in range(8)])
        for host in (1, 2)
    ]
    monkeypatch.chdir(tmp_path)
    table, drawn = Path("hccl_2s_16p.json"), Path("servers.svg")
    table.write_text(formats.write(merge(servers)).replace('"rank_id": "13"', '"rank_id": "12"'), encoding="utf-8")
    main(["show", str(table), "--product", "910", "--output", str(drawn)])
    text = drawn.read_text(encoding="utf-8")
    if request.config.getoption("--update-golden"):
        PICTURE.parent.mkdir(exist_ok=True)
        PICTURE.write_text(text, encoding="utf-8")
    assert PICTURE.read_text(encoding="utf-8") == text
