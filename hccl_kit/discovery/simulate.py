"""Card addresses for a machine without cards, so that tables and scripts can be tried anywhere."""

from __future__ import annotations

from collections.abc import Sequence

from hccl_kit.errors import KitError


def addresses(ids: Sequence[int], *, planes: int) -> dict[int, str]:
    """One address of 192.0.2.0/24 for every card in `ids`.

    The range is reserved for documentation (RFC 5737), so no such table reaches a real network. The /24 is cut into
    one block for each of the `planes` (as `Product.planes`: card i belongs to plane i mod planes); no address is the
    first or the last of its block. KitError where an id does not fit its block.
    """
    block = 256 // planes
    highest = planes * (block - 2) - 1
    if max(ids) > highest:
        raise KitError(f"card {max(ids)} cannot be simulated: the documentation range ends with card {highest}")
    return {i: f"192.0.2.{block * (i % planes) + i // planes + 1}" for i in ids}
