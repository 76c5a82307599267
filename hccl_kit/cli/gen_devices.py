"""The cards that --device_num and --visible_devices choose, and whether a product can link them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from hccl_kit.base.errors import KitError, ParseError
from hccl_kit.base.message import Message
from hccl_kit.check.engine import refused_ids
from hccl_kit.check.rules.topology import nearest_supported
from hccl_kit.discovery.visible import physical_ids
from hccl_kit.table.device_range import DeviceRange
from hccl_kit.table.products import Product

DEVICE_NUM = "--device_num"


class Devices(NamedTuple):
    """The chosen cards. `ids` are physical; rank 0 gets the first one.

    `text` is the value of `option` as it was typed, into which errors point. `logical` are its ids if they count within
    --visible_devices, else None.
    """

    text: str
    ids: DeviceRange
    logical: DeviceRange | None = None
    option: str = DEVICE_NUM

    @classmethod
    def parse(cls, text: str, visible: str | None, option: str = DEVICE_NUM) -> Devices:
        """Read both options. Raises KitError, or ParseError with the wrong character, which begins with the option."""
        with named_option(option):
            wanted = DeviceRange.parse(text)
        if visible is None:
            return cls(text, wanted, option=option)
        with named_option("--visible_devices"):
            return cls(text, DeviceRange(tuple(physical_ids(wanted.ids, visible).values())), wanted, option)

    @property
    def mapping(self) -> list[str]:
        """A line for each logical id and its physical id."""
        pairs = zip(self.logical.ids, self.ids.ids, strict=True) if self.logical else ()
        return [f"logical {logical} -> physical {physical}" for logical, physical in pairs]


def check_devices(devices: Devices, servers: Sequence[str], product: Product) -> None:
    """Raises ParseError if `product` cannot link these cards on each of `servers`; it points into the typed range."""
    ids, text = devices.ids.ids, devices.text
    refused = refused_ids(ids, servers, product)
    if refused is None:
        return
    message = Message("cli.gen-devices.reason", "{rule}: {reason}", rule=refused.rule, reason=refused.message)
    written = text.strip()
    column = text.index(written)

    def accepted(others: Sequence[int]) -> bool:
        return refused_ids(others, servers, product) is None

    if written.endswith("]") and len(ids) > 1 and devices.logical is None and accepted(ids[:-1]):
        meant = Message("cli.gen-devices.did-you-mean", 'did you mean "[{first},{last})"?', first=ids[0], last=ids[-1])
        raise ParseError(message, source=text, column=column + len(written) - 1, hint=meant)
    hint = _nearest(devices, product)
    if written.isdigit() and accepted(range(int(written))):  # a number of cards
        hint = Message(
            "cli.gen-devices.reason.fix",
            'a single number is the id of a card; did you mean "[0,{written})"?',
            written=written,
        )
    raise ParseError(message, source=text, column=column, width=len(written), hint=hint)


def _nearest(devices: Devices, product: Product) -> str | None:
    nearest = nearest_supported(devices.ids.ids, product)
    if nearest is None:
        return None
    if devices.logical is None:
        return Message("cli.nearest", '{option} "{cards}"', option=devices.option, cards=DeviceRange(nearest))
    return Message(
        "cli.nearest-physical", "the nearest valid choice is {cards} in physical ids", cards=DeviceRange(nearest)
    )


@contextmanager
def named_option(option: str) -> Iterator[None]:
    """Prefix errors about an option's value with the option's name."""
    try:
        yield
    except KitError as error:
        error.message = f"{option}: {error.message}"
        raise
