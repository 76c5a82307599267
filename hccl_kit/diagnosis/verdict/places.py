"""Where ranks run: the card of a process by its own lines, and by what its launcher, the table and others say."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from hccl_kit.diagnosis.facts import Card, Event, Exited, Joined, Located, Process
from hccl_kit.table.model import RankTable

DEVICE_FOLDER = re.compile(r"/device-([0-9]{1,4})/[^/]*$")
"""The card side of a process logs in a folder that names the card; the process itself always has a plog too."""


class Places:
    """Where the launcher saw each rank end, or where the table puts it."""

    def __init__(self, table: RankTable | None, launcher: Iterable[Event]) -> None:
        servers = table.servers if table is not None else ()
        devices = [(server.id, device) for server in servers for device in server.devices]
        ends = [(event.process, event.fact) for event in launcher if isinstance(event.fact, Exited)]
        self.ended = {process: end.rank for process, end in ends if process.pid is not None}
        """The processes of ranks, by their pids."""
        self._of_rank = {end.rank: Card(end.server, end.physical, None) for _, end in ends if end.server}
        self._of_rank |= {device.rank: Card(server, device.id, device.ip or None) for server, device in devices}
        self._of_card = {(server, device.id): device.rank for server, device in devices}
        self._only = servers[0].id if len(servers) == 1 else None

    def completed(self, number: int | None, card: Card, logic: int | None) -> tuple[int | None, Card]:
        """The rank of a card, or the card of a rank; what the logs say goes first.

        A process that sees no other card counts its own as 0; beyond that, `logic` is taken for the physical number.
        """
        server = card.server or self._only
        place = card.physical if card.physical is not None else logic or None
        if number is None and server is not None and place is not None:
            number = self._of_card.get((server, place))
        known = self._of_rank.get(number) if number is not None else None
        if known is None:
            return number, card
        physical = known.physical if card.physical is None else card.physical
        return number, Card(card.server or known.server, physical, card.address or known.address)


def cards_of(by_process: Mapping[Process, Sequence[Event]]) -> dict[Process, Card]:
    """The card of each process; its server is that of the other processes of its worker where no line names it."""
    cards = {process: _card(events) for process, events in by_process.items()}
    servers: dict[str, set[str]] = defaultdict(set)
    for process, card in cards.items():
        if card.server is not None:
            servers[process.worker].add(card.server)
    return {
        process: card._replace(server=min(of_worker))
        if card.server is None and len(of_worker := servers[process.worker]) == 1
        else card
        for process, card in cards.items()
    }


def _card(events: Sequence[Event]) -> Card:
    server = physical = address = None
    for event in events:
        if isinstance(event.fact, Joined):
            server = event.fact.server or server
            physical = event.fact.physical if event.fact.physical is not None else physical
            address = event.fact.card_address or address
    for event in events:
        if isinstance(event.fact, Located):
            server = server or event.fact.server
            physical = event.fact.physical if physical is None else physical
    if physical is None:
        folders = [match for event in events if (match := DEVICE_FOLDER.search(event.place.file))]
        physical = int(folders[0][1]) if folders else None
    return Card(server, physical, address)
