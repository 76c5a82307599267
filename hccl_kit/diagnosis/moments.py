"""Times of logs as text. Logs name no zone, and some jobs of a folder are of other days: a date is always with them."""

from __future__ import annotations

from datetime import datetime, timezone

from hccl_kit.base.message import Message


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
    return Message("diagnosis.from-to", "{start} to {end}", start=start, end=end.removeprefix(start[:11]))


def _moment(time: float | None) -> datetime | None:
    try:
        return None if time is None else datetime.fromtimestamp(time, timezone.utc).replace(tzinfo=None)
    except (ValueError, OverflowError, OSError):  # a year that no calendar has
        return None


def time_of(date: str | None, milli: str | None, micro: str | None) -> float | None:
    """The seconds since 1970 of `2025-10-21-07:56:47` or with a blank; None if no calendar has it."""
    if date is None:
        return None
    year, month, day, hour, minute, second = (int(date[at : at + size]) for at, size in _DIGITS)
    try:
        whole = datetime(year, month, day, hour, minute, tzinfo=timezone.utc).timestamp() + second
    except ValueError:
        return None
    return whole + int(milli or 0) / 1e3 + int(micro or 0) / 1e6 if year >= 1970 and second <= 60 else None


_DIGITS = ((0, 4), (5, 2), (8, 2), (11, 2), (14, 2), (17, 2))
