"""Tables of different servers for tests of placement."""

from collections.abc import Sequence

from hypothesis import strategies as st

from hccl_kit.table.model import Device, PodServer, RankTable, Server, SuperPod

Shape = Sequence[Sequence[Sequence[int]]]
"""For each super pod, for each of its servers, the ids of its cards."""


def table_of(shape: Shape, ranks: Sequence[int] | None = None, *, has_pods: bool = True) -> RankTable:
    """A table with servers of these cards; `ranks` are in the order of the cards, by default consecutive."""
    size = sum(len(server) for pod in shape for server in pod)
    left = iter(range(size) if ranks is None else ranks)
    servers, pods = [], []
    for number, pod in enumerate(shape):
        names = [f"s{number}-{place}" for place in range(len(pod))]
        pods.append(SuperPod(f"p{number}", tuple(map(PodServer, names))))
        for name, cards in zip(names, pod, strict=True):
            servers.append(Server(name, tuple(Device(card, None, next(left)) for card in cards)))
    return RankTable(
        "1.2" if has_pods else "1.0",
        "completed",
        tuple(servers),
        super_pods=tuple(pods) if has_pods else None,
        declared_servers=len(servers),
    )


@st.composite
def small_tables(draw: st.DrawFn) -> RankTable:
    """At most three super pods of at most two servers of at most three cards, with ranks in any order."""
    cards = st.lists(st.integers(0, 5), min_size=1, max_size=3, unique=True).map(sorted)
    shape = draw(st.lists(st.lists(cards, min_size=1, max_size=2), min_size=1, max_size=3))
    size = sum(len(server) for pod in shape for server in pod)
    return table_of(shape, draw(st.permutations(range(size))), has_pods=draw(st.booleans()))


def whole(pods: int, servers: int, cards: int) -> Shape:
    return [[list(range(cards))] * servers] * pods
