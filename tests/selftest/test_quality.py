"""Links and cards relative to the typical value, in two steps: within a pass, and over all passes."""

from dataclasses import replace

from hccl_kit.selftest.quality import judged_links, judged_ranks, link_ratios
from tests.selftest.results import healthy, slowed, wrong

LOW = (0.3, 0.45, 0.9)


def test_ratios_within_a_pass() -> None:
    measured = slowed(wrong(healthy(4, 1), lambda pair: pair == (2, 3)), lambda pair: pair == (0, 1), 0.25)
    found = link_ratios(measured.links, measured.cards, None)
    assert {pair: found[pair] for pair in ((0, 1), (0, 2), (2, 3))} == {(0, 1): 0.25, (0, 2): 1.0, (2, 3): 0.0}


def test_load_that_slows_all_links_is_not_a_fault() -> None:
    """In every pass, another pair is the fastest, so most pairs have less than half of its speed."""
    measured = healthy(3, 1)
    links = tuple(replace(link, ratios=LOW) for link in measured.links)
    compute = tuple(replace(compute, ratios=LOW) for compute in measured.compute)
    busy = replace(measured, links=links, compute=compute)
    assert [judged.quality for judged in judged_links(busy)] == [1.0] * 3
    assert [one.quality for one in judged_ranks(busy).values()] == [1.0] * 3
    assert [judged.ratios[1] for judged in judged_links(busy)] == [1.0] * 3


def test_a_baseline_is_not_lowered() -> None:
    measured = healthy(3, 1)
    busy = replace(measured, links=tuple(replace(link, ratios=LOW) for link in measured.links))
    assert [judged.quality for judged in judged_links(busy, measured)] == [0.45] * 3


def test_a_baseline_of_nearly_nothing_gives_ratios_that_can_be_drawn() -> None:
    measured = healthy(3, 1)
    nothing = replace(measured, links=tuple(replace(link, bandwidth=5e-324) for link in measured.links))
    assert set(link_ratios(measured.links, measured.cards, nothing).values()) == {1e12}
