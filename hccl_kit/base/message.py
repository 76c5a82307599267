"""A message for a person: a template with an id and named values, which is its English text."""

from __future__ import annotations


class Message(str):
    """The text of `template` with its `values`; it is used as any other text.

        Message("HK201.taken", "rank {rank} is taken by {server}", rank=3, server="10.0.0.1")

    `id` is unique in the project and does not change when the English is improved: "HK201.taken" in a rule, where
    "HK201.fix" is its advice, "table.not-json" elsewhere, with the room first. A translation is found by the id and
    the template, and is made from the same values. Only the texts of a table of facts share one id: they have none of
    their own, and move with its rows. `template` is a literal, in the syntax of str.format, with named fields; values
    that were read from a file stand in `values`, where braces have no meaning. A value may be a message itself.
    """

    __slots__ = ("id", "template", "values")

    id: str
    template: str
    values: dict[str, object]

    def __new__(cls, id: str, template: str, /, **values: object) -> Message:  # noqa: A002 - what it is for translators
        message = super().__new__(cls, template.format_map(values))
        message.id, message.template, message.values = id, template, values
        return message

    def __getnewargs_ex__(self) -> tuple[tuple[str, str], dict[str, object]]:
        """How copies and other processes make it again."""
        return (self.id, self.template), self.values


def reason_of(error: Exception) -> str:
    """What an error says: the message that it was made with, if it was."""
    first = next(iter(error.args), None)
    return first if isinstance(first, Message) else str(error)
