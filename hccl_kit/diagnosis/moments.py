"""Times of logs as text. Logs name no zone, and some jobs of a folder are of other days: a date is always with them."""

from __future__ import annotations

from datetime import datetime, timezone


def clock(time: float | None) -> str:
    """`2025-11-20 21:37:51`; "" if the time is not known."""
    moment = _moment(time)
    return "" if moment is None else moment.strftime("%Y-%m-%d %H:%M:%S")


def timestamp(time: float | None) -> str | None:
    """`2025-11-20T21:37:51.123`, without a zone: logs name none."""
    moment = _moment(time)
    return None if moment is None else moment.isoformat(timespec="milliseconds")


def span_text(first: float, last: float) -> str:
    """`2025-11-20 21:37:51 to 21:40:00`."""
    start, end = clock(first), clock(last)
    return f"{start} to {end.removeprefix(start[:11])}"


def _moment(time: float | None) -> datetime | None:
    try:
        return None if time is None else datetime.fromtimestamp(time, timezone.utc).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):  # a year that no calendar has
        return None
