"""The product of a table: named, by npu-smi, or the default."""

from pathlib import Path

import pytest

from hccl_kit.discovery.product_here import choose_product, product_in
from hccl_kit.table.products import find_product
from tests.places import FAKES, TESTS

SAMPLES = TESTS / "preflight" / "samples"


def info(name: str, cards: int = 8, physical: str = "") -> str:
    """What `npu-smi info` prints of cards with a chip each; `physical` is the name of the column of their Phy-ID."""
    rows = "".join(
        f"| {card}     {name} | OK | 90.1 40 0 / 0 |\n"
        f"| 0     {card if physical else ''} | 0000:C1:00.0 | 0 0 / 0 3397 / 65536 |\n"
        for card in range(cards)
    )
    head = "| NPU   Name | Health | Power(W)    Temp(C)    Hugepages-Usage(page) |\n"
    return f"{head}| Chip  {physical} | Bus-Id | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB) |\n{rows}"


@pytest.mark.parametrize(
    ("answer", "product"),
    [
        (info("910B3"), "a2"),
        (info("Ascend910B4"), "a2"),
        (info("910B1", cards=16), "a2-box16"),
        (info("910A"), "910"),
        (info("Ascend910", physical="Phy-ID"), "a3"),
        (info("310P3"), "300i-duo"),
        (info("Ascend2030"), None),
        (info("910B3") + info("310P3", cards=1).split("\n", 2)[2], None),
        ("dcmi module initialize failed. ret is -8005", None),
        ("", None),
    ],
)
def test_the_names_of_the_chips_tell_the_product(answer: str, product: str | None) -> None:
    found = product_in(answer)
    assert (found.name if found else None) == product


@pytest.mark.parametrize("folder", ["910", "a2", "a3", "a5", "300i-duo"])
def test_samples_of_machines(folder: str) -> None:
    answer = (SAMPLES / folder / "npu-smi-info.txt").read_text(encoding="utf-8")
    assert product_in(answer) == find_product(folder)


def test_a_named_product_goes_first_and_without_an_answer_there_is_a_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "info").write_text(info("910B3"))
    monkeypatch.setenv("FAKE_NPU_SMI", str(tmp_path))
    monkeypatch.setenv("PATH", f"{FAKES}:/usr/bin:/bin")
    assert choose_product(None, cards_are_here=True).note == f"product: Atlas A2 (910B), from {FAKES}/npu-smi"
    assert choose_product(find_product("a3"), cards_are_here=True).note == "product: Atlas A3 (910C), --product"
    elsewhere = choose_product(None, cards_are_here=False)
    (tmp_path / "info").unlink()
    for choice in (elsewhere, choose_product(None, cards_are_here=True)):
        assert choice.product.name == "910"
        assert "a2" in [other.name for other in choice.may_be]
