"""Which sets of cards are linked, and the nearest valid set otherwise."""

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from hccl_kit.check.engine import check_text
from hccl_kit.check.rules.topology import nearest_supported
from hccl_kit.table.formats import write
from hccl_kit.table.model import Device, RankTable, Server
from hccl_kit.table.products import PRODUCT_NAMES, find_product

P910 = find_product("910")


def findings(*servers: tuple[int, ...], product: str = "910") -> list[tuple[str, str]]:
    """Rule and severity of the findings about servers with these cards."""
    ranks = iter(range(1000))
    made = tuple(
        Server(f"10.0.0.{s}", tuple(Device(card, f"192.168.{s}.{n}", next(ranks)) for n, card in enumerate(cards)))
        for s, cards in enumerate(servers)
    )
    report = check_text(write(RankTable("1.0", "completed", made)), "t.json", find_product(product))
    return [(found.rule, found.severity) for found in report.findings]


def test_on_910_every_set_of_cards_is_checked_as_hccl_and_its_manual_do() -> None:
    parser_fours = {(0, 1, 4, 5), (0, 2, 4, 6), (0, 3, 4, 7), (1, 2, 5, 6), (1, 3, 5, 7), (2, 3, 6, 7)}  # R24
    for count in range(1, 9):
        for cards in combinations(range(8), count):
            inside = set(cards) <= {0, 1, 2, 3} or set(cards) <= {4, 5, 6, 7}
            if count not in (1, 2, 4, 8):
                expected = [("HK401", "error")]
            elif inside or count == 8:
                expected = []
            elif count == 2 or cards in parser_fours:
                expected = [("HK402", "warning")]
            else:
                expected = [("HK403", "error")]
            assert findings(cards) == expected, cards


def test_link_rules_differ_between_products() -> None:
    for servers, product, expected in (
        (((0, 4), (0, 1)), "910", [("HK402", "warning")]),
        (((0, 1), (0, 1, 2, 3)), "910", [("HK404", "error")]),
        (((0, 1, 2), (0, 1, 2, 3)), "910", [("HK401", "error")]),
        (((0, 4), (0, 1, 2)), "a2", [("HK408", "note")]),
        (((0, 4), (0, 1, 2)), "a2-box16", [("HK408", "note")]),
        (((0,), (0, 1), (1,), (0,), (0, 1, 2)), "a2", [("HK408", "note")]),
        (((0, 4), (1, 2)), "a2", []),
        (((0, 1, 2), tuple(range(9))), "a2", [("HK401", "warning")]),
        ((tuple(range(9)),), "a2", []),
        ((tuple(range(9)),), "a2-box16", [("HK401", "warning")]),
        (((0, 1), (0,)), "300i-duo", [("HK404", "error")]),
        (((0, 1), (0,)), "a3", [("HK408", "warning")]),
        (((0, 1), ()), "a3", [("HK208", "error")]),
        (((0, 8),), "910", [("HK204", "error")]),
        (((0, 0),), "910", [("HK203", "error")]),
    ):
        assert findings(*servers, product=product) == expected, (servers, product)


def test_the_nearest_valid_set_on_910() -> None:
    for asked, nearest in (
        ((0, 4), (0, 1)),
        ((3, 4), (2, 3)),
        ((0, 1, 6, 7), (0, 1, 2, 3)),
        ((0, 5, 6, 7), (4, 5, 6, 7)),
        ((0, 1, 2), (0, 1, 2, 3)),
        ((0, 1, 2, 3, 4, 5), (0, 1, 2, 3, 4, 5, 6, 7)),
        ((8, 9, 10, 11), (4, 5, 6, 7)),
        ((1, 2), (1, 2)),
        ((7,), (7,)),
        ((10**12,), (7,)),
    ):
        assert nearest_supported(asked, P910) == nearest, (asked, nearest)


@given(st.sets(st.integers(0, 70), min_size=1, max_size=20), st.sampled_from([p for p in PRODUCT_NAMES if p != "a5"]))
def test_the_nearest_set_is_valid_and_a_valid_set_is_its_own_nearest(cards: set[int], product: str) -> None:
    nearest = nearest_supported(sorted(cards), find_product(product))
    if nearest is None:
        assert not find_product(product).server_counts
        return
    assert findings(nearest, product=product) == []
    if findings(tuple(sorted(cards)), product=product) == []:
        assert nearest == tuple(sorted(cards))


def test_products_that_link_any_cards_have_no_nearest_set() -> None:
    assert nearest_supported((0, 4), find_product("a2")) is None
    assert nearest_supported((), P910) is None


def test_the_ranks_of_a_server_form_one_block() -> None:
    for servers, expected in (
        (((0, 1), (2, 3)), []),
        (((2, 3), (0, 1)), []),
        (((3, 2), (1, 0)), []),
        (((0, 2), (1, 3)), ["HK406 warning"]),
        (((0, 3), (1, 2)), ["HK406 warning"]),
        (((0, 1), (2, 4), (3, 5)), ["HK406 warning"]),
        (((0, 3, 1), (2,)), ["HK406 warning"]),
        (((0, 2), (2, 3)), ["HK201 error"]),
        (((0, 2), (1, 4)), ["HK202 error"]),
    ):
        made = tuple(
            Server(f"10.0.0.{s}", tuple(Device(n, f"192.168.{s}.{n}", rank) for n, rank in enumerate(ranks)))
            for s, ranks in enumerate(servers)
        )
        report = check_text(write(RankTable("1.0", "completed", made)), "t.json")
        assert [f"{found.rule} {found.severity}" for found in report.findings] == expected, (servers, expected)


def test_a_split_block_is_reported_at_the_first_rank_after_the_gap() -> None:
    made = (
        Server("a", (Device(0, "10.1.0.1", 3), Device(1, "10.1.0.2", 0))),
        Server("b", (Device(0, "10.1.0.3", 1),)),
        Server("c", (Device(0, "10.1.0.4", 2),)),
    )
    (found,) = check_text(write(RankTable("1.0", "completed", made)), "t.json").findings
    assert found.pointer == ("server_list", 0, "device", 0, "rank_id")
    assert found.message == 'the ranks of server "a" are not consecutive: 2 is on another server'
