"""Pictures of large tables reduced: runs beyond a limit are only counted, those with findings are kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import chain, groupby

from hccl_kit.show.layout import Host, Picture, Run


def one_by_one(picture: Picture) -> Picture:
    """Every server as a run of its own."""
    return _in_parts(picture, lambda hosts: [(host,) for host in hosts])


def with_ends(picture: Picture) -> Picture:
    """The first and the last server of every run as runs of their own, and those between as one run."""
    return _in_parts(picture, lambda hosts: filter(None, (hosts[:1], hosts[1:-1], hosts[1:][-1:])))


def collapsed(picture: Picture, most: int) -> Picture:
    """At most `most` runs are kept, with their super pods; others become non-uniform runs or count as `more_pods`.

    Runs with findings are kept first, then the first run of every super pod, the second one and so on.
    """
    rows = [
        (not ((pod.findings and place == 0) or run.has_findings), place, number)
        for number, pod in enumerate(picture.pods)
        for place, run in enumerate(pod.runs or [Run(())])
    ]
    kept: dict[int, set[int]] = {}
    for _, place, number in sorted(rows)[:most]:
        kept.setdefault(number, set()).add(place)
    pods = [
        pod._replace(runs=tuple(_kept(pod.runs, kept[number])))
        for number, pod in enumerate(picture.pods)
        if number in kept
    ]
    return picture._replace(pods=tuple(pods), more_pods=len(picture.pods) - len(pods))


def _kept(runs: tuple[Run, ...], kept: Set[int]) -> Iterator[Run]:
    """The kept runs, and one for all between two of them."""
    for is_kept, group in groupby(enumerate(runs), key=lambda pair: pair[0] in kept):
        some = [run for _, run in group]
        if is_kept:
            yield from some
        else:
            yield Run(tuple(chain.from_iterable(run.hosts for run in some)), is_uniform=False)


def _in_parts(picture: Picture, parts: Callable[[Sequence[Host]], Iterable[Sequence[Host]]]) -> Picture:
    pods = [
        pod._replace(runs=tuple(chain.from_iterable([_parts(run, parts) for run in pod.runs]))) for pod in picture.pods
    ]
    return picture._replace(pods=tuple(pods))


def _parts(run: Run, parts: Callable[[Sequence[Host]], Iterable[Sequence[Host]]]) -> Sequence[Run]:
    return (run,) if len(run.hosts) == 1 else [Run(part) for part in parts(run.hosts)]
