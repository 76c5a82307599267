"""What argparse says about words that it cannot read, as messages."""

from __future__ import annotations

import re

from hccl_kit.base.message import Message

MISSING = "the following arguments are required"
UNKNOWN = "unrecognized arguments"
PROBLEMS = {
    "base.arguments-missing": f"{MISSING}: {{names}}",
    "base.arguments-unknown": f"{UNKNOWN}: {{words}}",
    "base.argument": "argument {name}: {problem}",
    "base.argument-choice": "invalid choice: {value} (choose from {choices})",
    "base.argument-type": "invalid {type} value: {value}",
    "base.argument-conflict": "not allowed with argument {other}",
    "base.argument-of-several": "one of the arguments {names} is required",
    "base.argument-value": "expected one argument",
    "base.argument-values": "expected at least one argument",
    "base.argument-no-value": "ignored explicit argument {value}",
    "base.argument-dashes": "'--' is not a value",
    "base.argument-path": "'' is not a path",
}
"""The texts of Python 3.10 to 3.12, and those that `arguments` gives to argparse, by the ids of their messages."""


def problem(text: str) -> str:
    """The message that `text` is an instance of; `text` itself if it is none that is known."""
    for id_, template in PROBLEMS.items():
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(template))
        if match := re.fullmatch(pattern, text, re.DOTALL):
            return Message(id_, template, **{name: problem(value) for name, value in match.groupdict().items()})
    return text
