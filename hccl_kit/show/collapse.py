"""Pictures of large tables made small: what is too much is only counted, and what has faults stays."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from itertools import groupby

from hccl_kit.show.layout import Host, Picture, Run


def one_by_one(picture: Picture) -> Picture:
    """Every server alone."""
    return _in_parts(picture, lambda hosts: [(host,) for host in hosts])


def with_ends(picture: Picture) -> Picture:
    """The first and the last server of every run alone, and those between as a run."""
    return _in_parts(picture, lambda hosts: filter(None, (hosts[:1], hosts[1:-1], hosts[1:][-1:])))


def collapsed(picture: Picture, most: int) -> Picture:
    """At most `most` runs stay, with their super pods; those between become runs that are not alike, or `more_pods`.

    Those with faults stay first, then the first run of every super pod, the second of every one and so on.
    """
    rows = [
        (not ((pod.faults and place == 0) or any(host.has_faults for host in hosts)), place, number)
        for number, pod in enumerate(picture.pods)
        for place, hosts in enumerate([run.hosts for run in pod.runs] or [()])
    ]
    stay: dict[int, set[int]] = {}
    for _, place, number in sorted(rows)[:most]:
        stay.setdefault(number, set()).add(place)
    pods = [
        pod._replace(runs=tuple(_kept(pod.runs, stay[number])))
        for number, pod in enumerate(picture.pods)
        if number in stay
    ]
    return picture._replace(pods=tuple(pods), more_pods=len(picture.pods) - len(pods))


def _kept(runs: tuple[Run, ...], stay: Set[int]) -> Iterator[Run]:
    """The runs at the places that stay, and one for all between two of them."""
    for stays, group in groupby(enumerate(runs), key=lambda pair: pair[0] in stay):
        some = [run for _, run in group]
        if stays:
            yield from some
        else:
            yield Run(tuple([host for run in some for host in run.hosts]), is_uniform=False)


def _in_parts(picture: Picture, parts: Callable[[tuple[Host, ...]], Iterable[tuple[Host, ...]]]) -> Picture:
    pods = [
        pod._replace(runs=tuple([Run(part) for run in pod.runs for part in parts(run.hosts)])) for pod in picture.pods
    ]
    return picture._replace(pods=tuple(pods))
