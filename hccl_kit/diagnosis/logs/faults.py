"""The facts that a record states by itself: those of the rows of its message, or that there is an error.

Errors tell something although they name no rank: codes, errors of other modules, exceptions of the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from hccl_kit.base.message import Message
from hccl_kit.base.wording import clauses, sentences
from hccl_kit.diagnosis.errors.answers import Answer, answer_of, candidates
from hccl_kit.diagnosis.errors.message import MAX_WORD, LogMessage
from hccl_kit.diagnosis.errors.row import FIX, literal_of, row_text, with_reason
from hccl_kit.diagnosis.errors.table import BY_CODE, ROWS
from hccl_kit.diagnosis.facts import Exited, Fact, Fault
from hccl_kit.diagnosis.logs.origins import without_prefix
from hccl_kit.diagnosis.logs.plog import Record

OF_LINKS = ("HCCL", "HCCP", "ROCE")
"""The modules whose errors have rows of their own; many of them are echoes of one."""


class Consequence(NamedTuple):
    """A phrase in errors of a process that suffers from another one; other programs use these words too.

    `is_frame`: a caller prints it around the error of what it called.
    """

    pattern: str
    kind: str
    is_frame: bool = False


CONSEQUENCES = (
    Consequence(
        r"507046|507048|507010|107020|stream sync(?:hronize)? time-?out|task timeout|EVENT_WAIT|NOTIFY_WAIT"
        r"|Notify ?Wait|is ABORT|failure abort|fftsplus.{0,40}timeout|Stream Synchronize failed"
        r"|event wait (?:error|timeout)|PrintStreamTimeoutSnapshotInfo",
        "a task did not finish in time",
    ),
    Consequence(
        r"client socket has (?:timed out|failed)|[0-9] clients joined|CCL communicator and retrieving"
        r"|Rendezvous(?:Timeout|Connection)Error",
        "torch's store waited for other processes",
    ),
    Consequence(
        r"[Ss]tream ?[Ss]ynchronize failed\.?$|SynchronizeStream\w{0,20} error|Sync stream (?:error|failed)",
        "a task did not finish",
        True,
    ),
    Consequence(
        r"HCCL function error|ERR02200|E[IJ][0-9]{4}|HcclAll|hcclComm|HcclComm|WorkHCCL|hccl.{0,40}(?:fail|error)",
        "a call to HCCL failed",
        True,
    ),
    Consequence(
        r"Connection (?:closed|reset) by peer|got 0 bytes|Broken pipe|SignalException"
        r"|KeyboardInterrupt|received signal|Signals\.SIG|SIGTERM|gloo.{0,200}(?:[Tt]imed out|closed|onnect timeout)"
        r"|EOFError|ConnectionResetError|BrokenPipeError|EngineDeadError|EngineCore|cancelled"
        r"|(?<!aicpu )executor .{0,40}(?:died|failed)",
        "the program was ended, or lost the connection to another one",
    ),
    Consequence(
        r"process [0-9]{1,10} exit with exception|worker exits with exception|Time out nodes are",
        "the launcher saw a process end",
    ),
    Consequence(r"kernel_name=aiv_(?:all|reduce|broadcast)", "an operator between cards failed in its kernel"),
)
_CONSEQUENCES = tuple((re.compile(phrase.pattern), phrase) for phrase in CONSEQUENCES)

_MIN_KEY = 8
_OF_CANN = "[FUNC:"
KEYS = (
    _OF_CANN,
    *("EI0", "EI9", "EJ0", "EC0", "EE1", "EE9", "EL0", "E39007", "E39999", "EZ9999"),
    *(literal_of(text) for row in ROWS if row.fact for text in row.patterns),
    *(key for row in ROWS if row.in_output for text in row.patterns if len(key := literal_of(text)) >= _MIN_KEY),
)
"""The texts of which a line has one, or it states no fact; of errors in lines of any program, the longer ones only."""
_NOISE = re.compile(
    r"call trace|may be due to the following|dump_err_cqe|args dump|args\(|AIC_INFO|\[Dump\]|tilingKey|Nnopbase|aclnn"
    r"|report error module_type|Ascend Error Message|Traceback \(most recent|^\W*$"
)


def facts_of(record: Record) -> Iterator[Fact]:
    """The facts that a record states by itself."""
    stated = dict.fromkeys((*_facts_of_rows(record), *of_codes(record)))  # two rows may state one fact
    facts = [_with_row(fact, record) for fact in stated]
    is_stated = any(isinstance(fact, Fault | Exited) for fact in facts)
    if not is_stated and not (facts and record.module in OF_LINKS) and (fault := of_record(record)):
        facts.append(_with_row(fault, record))
    yield from facts


def _facts_of_rows(record: Record) -> Iterator[Fact]:
    for row in candidates(record.text):
        if row.fact and (match := row.stated_in(record.text)):
            who = record.origin
            yield from row.fact(
                LogMessage(record.text, match, record.level, record.is_whole, record.time, who.rank, who.server)
            )


def _with_row(fact: Fact, record: Record) -> Fact:
    return known(fact, record.text, of_ascend=record.level is not None) if isinstance(fact, Fault) else fact


def of_record(record: Record) -> Fault | None:
    """The error that a record states by its row, if it states no other fact.

    Of HCCL and its helpers, only a root error: many others are echoes of one. Of a program's output, only what its row
    says to look for there. Of other modules, any: the first one of a process tells most.
    """
    if record.level not in ("ERROR", None) or not record.is_whole:
        return None
    if record.level is None or record.module in (None, "TORCH"):
        return _of_output(without_prefix(record.text), of_ascend=record.level is not None)
    if _NOISE.search(record.text):
        return None
    answer = _answer(record.text, of_ascend=True)
    if record.module in OF_LINKS:
        return _of_answer(record.module, answer, record.text) if answer and _is_root_error(answer) else None
    return _stated(record.module, record.text, answer) or Fault(
        None, record.module, _unknown_error(record.module), record.text.strip()[:MAX_WORD], is_unknown=True
    )


def _unknown_error(module: str) -> str:
    return Message("diagnosis.error-of", "an error of {module}", module=module)


def _of_output(text: str, *, of_ascend: bool) -> Fault | None:
    """An error in a line of a program; a call that failed is only the frame of what it met.

    In a line of CANN's stack trace, which a program prints with the error that it got, any root error counts.
    """
    is_of_cann = _OF_CANN in text
    rows = [
        row
        for row in candidates(text)
        if (row.in_output or (is_of_cann and row.role == "cause")) and row.found_in(text)
    ]
    if not rows:
        return None
    fault = _stated("PROGRAM", text, _answer(text, of_ascend=of_ascend))
    is_frame = any(row.role == "frame" for row in rows)
    return fault._replace(is_frame=fault.is_frame or is_frame) if fault else None


def of_exception(name: str, text: str) -> Fault:
    """An exception that ended a Python program; `name` is without its module."""
    fault = _stated("PYTHON", text, _answer(text, of_ascend=False))
    if fault is None:
        return Fault(None, "PYTHON", name, text[max(text.find(name), 0) :][:MAX_WORD])
    return known(
        fault._replace(kind=with_reason(name, row_text(fault.kind))),
        text,
    )


def _stated(module: str, text: str, answer: Answer | None) -> Fault | None:
    """What a line says: its row if that is of a root error, whatever words of consequences are in the line."""
    is_root = answer is not None and _is_root_error(answer)
    return (None if is_root else _consequence(module, text)) or _of_answer(module, answer, text)


def _consequence(module: str, text: str) -> Fault | None:
    for pattern, phrase in _CONSEQUENCES:
        if pattern.search(text):
            return Fault(None, module, phrase.kind, text.strip()[:MAX_WORD], True, phrase.is_frame)
    return None


def _of_answer(module: str, answer: Answer | None, text: str) -> Fault | None:
    """What a row says; None if it is none of an error."""
    if answer is None or answer.row.role in ("fact", "value"):
        return None
    row = answer.row
    code = next((code for code in row.codes if code.startswith("E") and not code.endswith("9999")), None)
    is_frame = row.role in ("result", "frame")
    return Fault(code, module, row.headline, text.strip()[:MAX_WORD], is_frame or row.role == "symptom", is_frame)


def stated_by(module: str, answer: Answer, text: str) -> Fault | None:
    """What a line of a program says by its most telling row, whether that is looked for in any output or not."""
    fault = _of_answer(module, answer, text)
    return fault and known(fault, text)


def known(fault: Fault, text: str, *, of_ascend: bool = False) -> Fault:
    """The fault with what the row of its message knows: the role, the fix, the values of the line.

    What a message shows to be a root error is one, and what it shows to be a consequence is none. A code alone does not
    decide that: its text may say more, or nothing.
    """
    answer = _answer(text, of_ascend=of_ascend)
    if answer is None:
        return fault
    row = answer.row
    if _is_root_error(answer):
        fault = fault._replace(is_symptom=False, is_frame=False)
    elif row.patterns and row.role == "frame" and fault.code in row.codes and not fault.is_symptom:
        fault = fault._replace(is_symptom=True, is_frame=True)
    elif not row.patterns and row.vague:  # the heading of a message, whose lines below it say what is wrong
        fault = fault._replace(is_frame=not _HAS_REASON.search(text))
    values = [text for text in answer.says if not text.startswith(FIX) and text != row.headline]
    kind = fault.kind
    if values and row.role == "cause":
        kind = with_reason(row_text(kind), clauses(values))
    fix = row.fix or sentences(filter(None, map(_fix_in, answer.says)))
    return fault._replace(
        role=row.role, fix=fix, kind=kind if len(kind) <= MAX_WORD else kind[:MAX_WORD], of_card=row.of_card
    )


@lru_cache(1 << 10)
def _answer(text: str, *, of_ascend: bool) -> Answer | None:
    return answer_of(text, candidates(text), of_ascend=of_ascend)


def _is_root_error(answer: Answer) -> bool:
    """Whether the message, not only its code, is that of a root error."""
    return answer.row.role == "cause" and bool(answer.row.patterns) and not answer.row.vague


def _fix_in(sentence: str) -> str:
    """The next step that a sentence about a line has, with the values of the line."""
    what = sentence.values["what"] if isinstance(sentence, Message) and sentence.startswith(FIX) else ""
    return what if isinstance(what, str) else ""


_HEADINGS = ("Inner Error!", "Inner Error, Please contact support engineer!")
"""How the first line of an internal error ends if those below it say what failed."""
_HAS_REASON = re.compile(r"Reason: ?\S")

_CODE = re.compile(
    r"(?:^\W{0,4}|Ascend Error Message: ?|[\w/ ]{1,60}\()"
    r"(?P<code>E(?:[IJELZ][0-9]|C0|39|40)[0-9]{3})(?:\)|: |(?=\[PID))"
)


def of_codes(record: Record) -> Iterator[Fault]:
    """The message of a code. Those of any internal error have the details in the text: what it says counts."""
    if record.level is not None and not record.is_screen and "Ascend Error Message" not in record.text:
        return
    text = without_prefix(record.text)
    named = _CODE.search(text)
    code = named["code"] if named else ""
    is_inner = code.endswith("9999")
    if code not in BY_CODE or (is_inner and not record.is_whole):  # the text that is cut off would tell more
        return
    shown = record.text[:MAX_WORD].strip()
    if is_inner and (inner := _inner(text)):
        yield inner._replace(code=inner.code or code, text=shown)
    elif record.level in ("ERROR", None):
        row, answer = BY_CODE[code], _answer(text, of_ascend=True)
        what = answer.row.headline if answer and _is_root_error(answer) else row.headline
        is_frame = row.role in ("result", "frame") or (is_inner and text.rstrip().endswith(_HEADINGS))
        yield Fault(code, "HCCL", what, shown, row.role != "cause", is_frame)


def _inner(text: str) -> Fault | None:
    """What the text of an internal error says, if it is more than that there is one."""
    answer = _answer(text, of_ascend=True)
    fault = _consequence("HCCL", text)
    if fault is None and answer and answer.row.patterns:
        fault = _of_answer("HCCL", answer, text)
    return fault if fault and not fault.is_frame else None
