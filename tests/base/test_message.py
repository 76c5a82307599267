import ast
import copy
import pickle
from collections.abc import Iterator
from pathlib import Path
from string import Formatter

import hccl_kit
from hccl_kit.base.message import Message

PACKAGE = Path(hccl_kit.__file__).parent
ERRORS: dict[str, tuple[str, ...]] = {
    "KitError": (),
    "CannotTellError": (),
    "ParseError": ("source", "column", "width"),
}
"""What makes its message from an id and a template, and what else it is given by name."""
MAKERS = {
    "Message": (),
    **{name: ("fix", "hint", *others) for name, others in ERRORS.items()},
    "verdict": ("fix", "hint", "why", "is_certain", "code", "contradicts"),
    "cannot_tell": ("fix", "hint"),
    "finding": ("fix", "hint", "device", "hccl_error"),
}
"""The same of all that makes messages. A fix and a reason are templates with the same values."""
MORE = ("fix", "why")
TEXTS = {
    "KitError": ("message", "hint"),
    "ParseError": ("message", "hint"),
    "CannotTellError": ("message",),
    "Finding": ("message", "hint"),
}
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


def messages() -> Iterator[tuple[str, dict[str, str], set[str]]]:
    """Every message of the package: its place, templates by id, the names of its values."""
    for place, call in calls(*MAKERS):
        assert isinstance(call.func, ast.Name)
        if len(call.args) < 2 or not isinstance(call.args[0], ast.Constant):
            continue  # it is given a message, or it makes one; texts of tables have the id of the table
        name, template = map(ast.literal_eval, call.args[:2])
        assert call.func.id != "Message" or len(call.args) == 2, f"{place}: a message has an id and a template"
        own = MAKERS[call.func.id]
        more = {
            f"{name}.{one.arg}": ast.literal_eval(one.value) for one in call.keywords if one.arg in {*MORE} & {*own}
        }
        yield place, {name: template, **more}, {str(keyword.arg) for keyword in call.keywords} - {*own}


def test_every_template_is_a_literal_whose_fields_are_its_values() -> None:
    for place, templates, values in messages():
        parts = [part for template in templates.values() for part in Formatter().parse(template)]
        assert {name for _, name, _, _ in parts if name is not None} == values, place


def test_every_id_stands_for_one_template() -> None:
    places: dict[str, str] = {}
    for place, templates, _ in messages():
        for id_ in templates:
            assert id_ not in places, f"{id_} is at {places[id_]} and at {place}"
            places[id_] = place


def test_errors_and_findings_are_given_messages_and_not_texts() -> None:
    texts = (ast.Constant, ast.JoinedStr, ast.BinOp)
    for place, call in calls(*TEXTS):
        if ast.unparse(call.func) in ERRORS and len(call.args) > 1:
            continue
        assert isinstance(call.func, ast.Name)
        given = dict(zip(TEXTS[call.func.id], call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg in TEXTS[call.func.id]}
        plain = [name for name, value in given.items() if isinstance(value, texts) and ast.unparse(value) != "None"]
        assert plain == [], f"{place}: {plain} of {call.func.id} is a text; write Message(id, template, ...)"
