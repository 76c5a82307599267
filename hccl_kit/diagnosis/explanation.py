"""What is known about a text: the answer of its most telling line, and the rules that match."""

from __future__ import annotations

from typing import NamedTuple

from hccl_kit.check.rule import Rule
from hccl_kit.diagnosis.errors.answers import Answer


class Explanation(NamedTuple):
    """What is known about a text.

    `codes` are those in it, `answers` what its most telling line says and, if that is one about a rank table, all
    others about it; `notes` are sentences about this text, `rules` the matching rules in order of their ids.
    `is_exact`: the text is more specific than its code, so not all rules of the code match.
    """

    codes: tuple[str, ...]
    answers: tuple[Answer, ...]
    notes: tuple[str, ...]
    rules: tuple[Rule[...], ...]
    is_exact: bool
