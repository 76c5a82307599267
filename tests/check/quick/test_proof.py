"""If the fast path proves a table valid, its report equals that of the exact check."""

import random
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from benchmarks.table_shapes import SHAPES
from hccl_kit.check.engine import check_text
from hccl_kit.check.exact import check_document
from hccl_kit.check.quick.proof import valid
from hccl_kit.check.result import Report
from hccl_kit.table.document import parse
from hccl_kit.table.products import PRODUCTS, Product, find_product
from hccl_kit.table.source import HCCL_MAX_BYTES, STDIN
from tests.check.quick.tables import CHANGES, VALID, Table, nearly_valid, respelled, text_of
from tests.damage import DAMAGES, SEEDS, Numbers, damaged

NAMES = sorted(VALID)


def exactly(data: bytes | str, product: Product | None, name: str = "t.json") -> Report:
    return check_document(parse(data, name), product)


def agrees(data: bytes | str, product: Product | None) -> bool:
    """Whether the table is proven valid; fails if the exact check reports anything else."""
    report = valid(data, "t.json", product)
    if report is None:
        return False
    exact = exactly(data, product)
    assert report == exact
    assert report.content is not None
    assert exact.content is not None
    assert (report.content.servers, report.content.devices) == (exact.content.servers, exact.content.devices)
    return True


@pytest.mark.parametrize("style", range(8))
@pytest.mark.parametrize("name", NAMES)
def test_valid_tables_are_proven(name: str, style: int) -> None:
    text = text_of(VALID[name], style)
    assert agrees(text, None)
    assert agrees(text.encode(), None)


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_the_tables_of_the_benchmark_are_proven(shape: str) -> None:
    assert agrees(text_of(SHAPES[shape](256), 1).encode(), None)


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.name)
@pytest.mark.parametrize("name", NAMES)
def test_the_fast_path_agrees_for_every_product(name: str, product: Product) -> None:
    agrees(text_of(VALID[name], 0), product)


def test_a_table_of_each_version_is_proven_for_a_product() -> None:
    for name, product in (("servers", "910"), ("servers", "a2"), ("super pods", "a3"), ("ranks", "a5"), ("lab", "910")):
        assert agrees(text_of(VALID[name], 1), find_product(product)), name


numbers = st.tuples(*[st.integers(0, 2**20)] * 3)
steps = st.lists(st.tuples(st.integers(0, len(CHANGES) - 1), numbers), max_size=3)
damages = st.lists(st.tuples(st.integers(0, len(DAMAGES) - 1), numbers), min_size=1, max_size=3)
products = st.none() | st.sampled_from(PRODUCTS)


@settings(max_examples=600, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(NAMES), steps, st.integers(0, 23), products)
def test_nearly_valid_tables(name: str, chosen: list[tuple[int, Numbers]], style: int, product: Product | None) -> None:
    agrees(text_of(nearly_valid(name, chosen), style).encode("utf-8", errors="surrogatepass"), product)


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.sampled_from(NAMES), st.integers(0, 10), numbers, st.integers(0, 23), st.booleans())
def test_unusual_spellings_of_json(name: str, way: int, at: Numbers, style: int, is_text: bool) -> None:
    data = respelled(text_of(VALID[name], style), way, at)
    agrees(data.decode("utf-8", errors="surrogatepass") if is_text else data, None)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, len(SEEDS) - 1), damages, products)
def test_damaged_tables(seed: int, chosen: list[tuple[int, Numbers]], product: Product | None) -> None:
    agrees(damaged(seed, chosen), product)


@pytest.mark.long
def test_fifty_thousand_nearly_valid_tables() -> None:
    chance = random.Random(20261123)
    proven: Counter[str] = Counter()

    def three() -> Numbers:
        return chance.randrange(2**20), chance.randrange(2**20), chance.randrange(2**20)

    for _ in range(50_000):
        name = chance.choice(NAMES)
        chosen = [(chance.randrange(len(CHANGES)), three()) for _ in range(chance.choice((1, 1, 1, 2, 3)))]
        text = text_of(nearly_valid(name, chosen), chance.randrange(24))
        data = text.encode("utf-8", errors="surrogatepass")
        data = respelled(text, chance.randrange(11), three()) if chance.random() < 0.3 else data
        proven[name] += agrees(data, chance.choice([None, None, None, *PRODUCTS]))
    assert min(proven[name] for name in NAMES) > 10  # otherwise few of the tables would test the fast path
    assert proven.total() < 10_000


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"status"', '"status": "completed", "status"', 1),
        lambda text: text.replace('"rank_id"', '"rank_id": "7:0", "rank_id"', 1),
        lambda text: text.replace('"device_id"', '"device_id": "0", "device_id"', 1),
        lambda text: text.replace('"server_id"', '"x": {"a": "b", "a": "c"}, "server_id"', 1),
        lambda text: text.replace('"server_id"', '"x": NaN, "server_id"', 1),
        lambda text: text.replace('"server_id"', '"x": 1e400, "server_id"', 1),
        lambda text: text.replace('"server_id"', '"x": ' + "9" * 5000 + ', "server_id"', 1),
        lambda text: text.replace('"server_id"', '"x": ' + "[" * 90 + "]" * 90 + ', "server_id"', 1),
        lambda text: text.replace('"server_id"', '"x": "\\ud800", "server_id"', 1),
        lambda text: text + "{}",
        lambda text: "\ufeff" + text,
    ],
)
def test_the_fast_path_leaves_faulty_json_to_the_exact_check(change: Callable[[str], str]) -> None:
    text = change(text_of(VALID["one server"], 1))
    assert valid(text, "t.json", None) is None
    assert exactly(text, None).findings != ()
    assert check_text(text, "t.json") == exactly(text, None)


def test_an_sdid_beyond_32_bits_is_left_to_the_exact_check() -> None:
    """Its lower 32 bits are those of card 0, as in every server."""
    text = text_of(VALID["super pods"], 1)
    beyond = text.replace('"super_device_id": "0"', f'"super_device_id": "{2**32}"', 1)
    assert valid(text, "t.json", None) is not None
    assert valid(beyond, "t.json", None) is None
    assert exactly(beyond, None).findings != ()


def test_a_colon_in_a_text_does_not_hide_a_duplicate_key() -> None:
    """The colon of the duplicate key could otherwise be balanced by a colon in a string that is not counted."""
    table: Table = VALID["other keys"]
    text = text_of(table, 1)
    assert valid(text, "t.json", None) is not None
    for place in ('"board"', '"server_id"', '"device_id"', '"rank_id"', '"server_count"'):
        for again in ('"x:y"', '"1"', '"a:b:c"'):
            doubled = text.replace(place, f"{place}: {again}, {place}", 1)
            assert valid(doubled, "t.json", None) is None, doubled


def test_a_valid_table_that_is_too_large_for_hccl() -> None:
    text = text_of(VALID["servers"], 1) + " " * HCCL_MAX_BYTES
    report = valid(text, STDIN, None)
    assert report is not None
    assert [found.rule for found in report.findings] == ["HK007"]
    assert report == exactly(text, None, STDIN)


def test_a_name_that_hccl_refuses_is_left_to_the_exact_check() -> None:
    text = text_of(VALID["servers"], 1)
    assert valid(text, "t.json", None) is not None
    assert valid(text, "t.json.bak", None) is None
    assert valid(text, STDIN, None) is not None


def test_a_report_builds_its_table_once_and_only_on_demand() -> None:
    report = check_text(text_of(VALID["super pods"], 1), "t.json")
    assert report.content is not None
    assert "table" not in vars(report.content)
    assert report.table is report.table
    assert report.table is not None
    assert (report.content.servers, report.content.devices) == (len(report.table.servers), report.table.world_size)
