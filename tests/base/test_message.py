import ast
import copy
import pickle
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import hccl_kit
from hccl_kit.base.message import Message

PACKAGE = Path(hccl_kit.__file__).parent
PLAIN = {
    "diagnosis",
}
"""Rooms whose messages are texts without an id."""
TEXTS = {"KitError": ("message", "hint"), "ParseError": ("message", "hint"), "Finding": ("message", "hint")}
"""What takes messages, and which of its arguments are some, in their order."""


def calls(*names: str) -> Iterator[tuple[str, ast.Call]]:
    """The calls of these in the package, each with its place."""
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names:
                yield f"{place}:{node.lineno}", node


def test_a_message_is_its_english_text_and_keeps_what_it_was_made_of() -> None:
    message = Message("HK201.taken", "rank {rank} is taken by {server}", rank=3, server="{host}")
    assert message == "rank 3 is taken by {host}"
    assert (message.id, message.values) == ("HK201.taken", {"rank": 3, "server": "{host}"})
    assert message.template.format_map({"rank": 4, "server": "n2"}) == "rank 4 is taken by n2"


def test_a_message_can_be_copied_and_sent_to_another_process() -> None:
    message = Message("place.range", "{first} to {last}", first=0, last=Message("place.end", "the end"))
    for copied in (copy.deepcopy(message), pickle.loads(pickle.dumps(message))):
        assert (copied, copied.id, copied.values) == (message, message.id, message.values)


def test_every_template_is_a_literal_whose_fields_are_its_values() -> None:
    for place, call in calls("Message"):
        texts = [ast.literal_eval(argument) for argument in call.args]
        assert len(texts) == 2, f"{place}: a message has an id and a template"
        fields = {name for _, name, _, _ in Formatter().parse(texts[1]) if name is not None}
        assert fields == {keyword.arg for keyword in call.keywords}, place


def test_every_id_stands_for_one_template() -> None:
    places: dict[str, str] = {}
    for place, call in calls("Message"):
        name = ast.literal_eval(call.args[0])
        assert name not in places, f"{name} is at {places[name]} and at {place}"
        places[name] = place


def test_errors_and_findings_are_given_messages_and_not_texts() -> None:
    texts = (ast.Constant, ast.JoinedStr, ast.BinOp)
    for place, call in calls(*TEXTS):
        if place.partition("/")[0] in PLAIN:
            continue
        assert isinstance(call.func, ast.Name)
        given = dict(zip(TEXTS[call.func.id], call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg in TEXTS[call.func.id]}
        plain = [name for name, value in given.items() if isinstance(value, texts) and ast.unparse(value) != "None"]
        assert plain == [], f"{place}: {plain} of {call.func.id} is a text; write Message(id, template, ...)"
