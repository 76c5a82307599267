"""Facts about Ascend products, as data for the rules. Each row has its origin."""

from functools import cache
from typing import NamedTuple

from hccl_kit.base.errors import KitError
from hccl_kit.base.message import Message
from hccl_kit.base.origin import Origin
from hccl_kit.base.wording import row

GUIDE = Origin("HCCL user guide, rank table configuration, and HCCL's own parser", "2026-11-25")


class Product(NamedTuple):
    """What one generation of hardware accepts.

    `max_device_id`: the highest physical id on a server. `groups`: sets of linked cards, empty if all cards of a server
    are linked. `server_counts`: allowed numbers of cards in a job on one server, empty for any. `cluster_counts`:
    allowed numbers per server in a job of several, empty for any. `equal_counts`: every server must have the same
    number of cards. `parser_quads`: sets of four cards that HCCL's parser accepts besides the groups.
    `planes`: how many parallel networks the RoCE ports of a server form (port i belongs to plane i mod planes).
    `prefix`: the prefix length of these networks if the user gave it; no table contains it. `host_ip_suffices`:
    cards need no address if the server has `host_ip` (R13).
    `table_versions`: the rank table versions its HCCL reads; "" is template 2, which has no version key. `chips`: other
    names of its chips and boards, in lower case and without separators.
    """

    name: str
    title: str
    max_device_id: int
    table_versions: tuple[str, ...]
    groups: tuple[tuple[int, ...], ...] = ()
    server_counts: tuple[int, ...] = ()
    cluster_counts: tuple[int, ...] = ()
    equal_counts: bool = False
    parser_quads: tuple[tuple[int, ...], ...] = ()
    planes: int = 1
    prefix: int | None = None
    host_ip_suffices: bool = True
    chips: tuple[str, ...] = ()
    origin: Origin = GUIDE

    @property
    def reads_servers(self) -> bool:
        """Whether its HCCL reads tables of version 1.0: servers with their cards."""
        return "1.0" in self.table_versions

    @property
    def has_super_pods(self) -> bool:
        """Whether its HCCL reads the super pods of a table."""
        return "1.2" in self.table_versions


PRODUCTS: tuple[Product, ...] = (
    Product(
        name="910",
        title="Atlas 800-9000/9010 (910A)",
        max_device_id=7,
        table_versions=("1.0", ""),
        groups=((0, 1, 2, 3), (4, 5, 6, 7)),
        server_counts=(1, 2, 4, 8),
        cluster_counts=(1, 2, 4, 8),
        equal_counts=True,
        parser_quads=((0, 1, 4, 5), (0, 2, 4, 6), (0, 3, 4, 7), (1, 2, 5, 6), (1, 3, 5, 7), (2, 3, 6, 7)),
        planes=4,
        chips=("910a", "9000", "9010", "a1", "910pro"),
    ),
    Product(
        name="a2",
        title="Atlas A2 (910B)",
        max_device_id=15,
        table_versions=("1.0",),
        cluster_counts=tuple(range(1, 9)),
        host_ip_suffices=False,
        chips=("910b", "800ia2", "800ta2", "900a2"),
    ),
    Product(
        name="a2-box16",
        title="Atlas 200T A2 Box16",
        max_device_id=15,
        table_versions=("1.0",),
        server_counts=(1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16),
        host_ip_suffices=False,
        chips=("200ta2", "box16"),
    ),
    Product(
        name="a3",
        title="Atlas A3 (910C)",
        max_device_id=15,
        table_versions=("1.0", "1.2"),
        chips=("910c", "91093", "superpod", "800ia3", "800ta3", "900a3"),
    ),
    Product(
        name="a5",
        title="Atlas 950 (A5)",
        max_device_id=64,
        table_versions=("2.0",),
        chips=("950", "910d", "91095", "350", "850"),
    ),
    Product(
        name="300i-duo",
        title="Atlas 300I Duo (310P)",
        max_device_id=31,
        table_versions=("1.0",),
        equal_counts=True,
        chips=("310p", "duo", "300iduo"),
    ),
)

PRODUCT_NAMES: tuple[str, ...] = tuple(product.name for product in PRODUCTS)

DEFAULT_PRODUCT = "910"
"""The product of hccl-gen, and of the topology of a table of version 1.0 to launch, if none is named."""
ANY_PRODUCT = "auto"
"""The name of `any_product`, for which tables are checked as long as no product is named."""


@cache
def any_product() -> Product:
    """The widest limits of the products that read version 1.0; topology differs between them, so any is accepted."""
    readers = [product for product in PRODUCTS if product.reads_servers]
    return Product(
        name=ANY_PRODUCT,
        title=Message("table.any-product", "any product that reads version 1.0"),
        max_device_id=max(product.max_device_id for product in readers),
        table_versions=("1.0",),
    )


def find_product(name: str) -> Product:
    """The product `name`. Raises KitError with the accepted names if there is none."""
    for product in PRODUCTS:
        if product.name == name:
            return product
    near = product_of_chip(name)
    raise KitError(
        "table.unknown-product",
        "unknown product {name!r}; accepted: {products}",
        hint=Message("table.unknown-product.fix", "did you mean {near}?", near=near) if near else None,
        name=name[:40],
        products=row(PRODUCT_NAMES),
    )


def only_reader(version: str | None) -> Product | None:
    """The one product whose HCCL reads tables of this version; None if there are several or none, or no version."""
    readers = [product for product in PRODUCTS if version in product.table_versions]
    return readers[0] if len(readers) == 1 else None


def product_or_auto(name: str) -> Product | None:
    """The product called `name`; None for "auto". Raises KitError if there is no such product."""
    return None if name == ANY_PRODUCT else find_product(name)


def product_of_chip(name: str) -> str | None:
    """The name of the product of a chip or board such as A2, Ascend910B4 or Atlas 800I A2."""
    written = "".join(filter(str.isalnum, name.lower())).removeprefix("ascend").removeprefix("atlas")
    names = [(spelling, product.name) for product in PRODUCTS for spelling in (product.name, *product.chips)]
    known = [(spelling.replace("-", ""), meant) for spelling, meant in names]
    fitting = [pair for pair in known if written.startswith(pair[0]) and (len(pair[0]) > 2 or written == pair[0])]
    return max(fitting, key=lambda pair: len(pair[0]), default=("", None))[1]
