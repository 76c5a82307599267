"""The picture of a table from its columns, without an object for each server and card: only those drawn are made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate

from hccl_kit.check.result import Report
from hccl_kit.show.hosts import Host, Run, SoundHosts
from hccl_kit.show.layout import Picture, Pod, host_of, picture, product_of, title
from hccl_kit.table.columns import Columns
from hccl_kit.table.model import Device, Server
from hccl_kit.table.products import Product

_TEMPLATE_2 = "template2"


def picture_of(report: Report) -> Picture | None:
    """The picture of the table of a report, equal to that of `layout.picture`; None if the report has no table."""
    content = report.content
    if content is None:
        return None
    columns = content.columns
    if columns is None or report.findings:
        return picture(report, content.table)
    product = product_of(report)
    form = "template 2" if report.format == _TEMPLATE_2 else f"version {report.format}"
    return Picture(
        title=title(report, form, content.servers, content.devices, len(columns.pods)),
        noun="server",
        pods=tuple(_Servers(columns, product).pods()),
        findings=(),
        planes=product.planes if product else 1,
    )


class _Servers:
    """The servers of a table, as slices of its columns."""

    def __init__(self, columns: Columns, product: Product | None) -> None:
        self._columns, self._product = columns, product
        self._starts = list(accumulate(map(len, columns.cards), initial=0))
        self._ranks = list(columns.by_server(columns.ranks()))

    def pods(self) -> Iterator[Pod]:
        """The super pods with their servers; one without id if the table has none."""
        start, host = 0, cache(self._host)
        pods: Sequence[tuple[str | None, int]] = self._columns.pods or [(None, len(self._ranks))]
        for name, size in pods:
            runs = [Run(SoundHosts(host, places)) for places in self._runs(range(start, start + size))]
            yield Pod(name, tuple(runs))
            start += size

    def _runs(self, places: range) -> Iterator[range]:
        """Runs of servers with the same cards and ranks that continue from one to the next, as long as possible."""
        start = places.start
        for place in places[1:]:
            if not self._continues(place):
                yield range(start, place)
                start = place
        yield range(start, places.stop)

    def _continues(self, place: int) -> bool:
        """Whether a server has the cards of the one before it, and the ranks that follow."""
        cards, ranks, before = self._columns.cards, self._ranks[place], self._ranks[place - 1]
        count = len(before)
        if cards[place] == cards[place - 1]:
            return ranks[0] == before[0] + count and ranks == tuple([rank + count for rank in before])
        following = zip(cards[place - 1], [rank + count for rank in before], strict=True)
        return len(ranks) == count and {*zip(cards[place], ranks, strict=True)} == {*following}

    def _host(self, place: int) -> Host:
        first, cards = self._starts[place], self._columns.cards[place]
        ips = self._columns.ips[first : first + len(cards)]
        devices = tuple(map(Device, map(int, cards), ips, self._ranks[place]))
        return host_of(Server(self._columns.servers[place], devices), self._product, {})
