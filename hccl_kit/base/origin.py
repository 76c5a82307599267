"""Where a fact about another program is from, in one form: for which releases it holds, and who saw it where."""

from typing import NamedTuple

Release = tuple[int, int]
"""A release of CANN, such as (9, 1) for 9.1.0 and its betas."""


class Origin(NamedTuple):
    """The source of a fact, the day on which it was seen (YYYY-MM-DD), and the first and last release it holds for."""

    source: str
    seen: str
    oldest: Release = (8, 0)
    newest: Release = (9, 1)

    def covers(self, release: Release) -> bool:
        """Whether the fact is known for this release."""
        return self.oldest <= release <= self.newest

    def __str__(self) -> str:
        releases = dict.fromkeys(map(dotted, (self.oldest, self.newest)))
        return f"valid for CANN {' to '.join(releases)}, seen {self.seen}: {self.source}"


def dotted(release: Release) -> str:
    """`dotted((9, 1))` is "9.1"."""
    return f"{release[0]}.{release[1]}"
