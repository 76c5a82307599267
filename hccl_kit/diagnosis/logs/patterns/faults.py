"""Errors that tell something although they name no rank: codes, errors of other modules, exceptions of the program."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from hccl_kit.diagnosis.logs.facts import Fact, Fault, Oversized
from hccl_kit.diagnosis.logs.origins import without_prefix
from hccl_kit.diagnosis.logs.patterns.row import MAX_WORD, Found, Row
from hccl_kit.diagnosis.logs.plog import Record

OF_LINKS = ("HCCL", "HCCP", "ROCE")
"""The modules whose errors have rows of their own; many of them are echoes of one."""


class Code(NamedTuple):
    """A code in messages. `is_symptom`: another rank causes it as often as this one."""

    kind: str
    is_symptom: bool = False


CODES = {
    "EI0001": Code("an environment variable is not valid"),
    "EI0002": Code("an operator waited for another rank for too long", True),
    "EI0003": Code("an argument of an operator is not valid"),
    "EI0004": Code("the rank table is not valid"),
    "EI0005": Code("the ranks called an operator with different arguments"),
    "EI0006": Code("a link was not set up in time", True),
    "EI0007": Code("out of a resource"),
    "EI0008": Code("the ranks run different releases of HCCL"),
    "EI0009": Code("a link could not be built", True),
    "EI0010": Code("two cards of a server cannot reach each other"),
    "EI0011": Code("the card has not enough memory for links"),
    "EI0012": Code("a copy between cards failed"),
    "EI0013": Code("packets between two cards were lost", True),
    "EI0014": Code("the rank table does not fit the job"),
    "EI0015": Code("the ranks did not find each other", True),
    "EI0016": Code("a setting is not valid"),
    "EI0017": Code("the rank table lacks an entry"),
    "EI0018": Code("packets between two cards were lost", True),
    "EI0019": Code("a port is taken"),
    "EI0020": Code("a port of the card is taken"),
    "EI9999": Code("an internal error of HCCL", True),
    "EJ0001": Code("the service of the card did not start: an old process still uses it"),
    "EJ0002": Code("the network port of the card is down"),
    "EJ0003": Code("a port is taken"),
    "EJ0004": Code("the address of the card is not valid"),
    "EC0010": Code("a Python module of the toolkit cannot be imported"),
    "EE1001": Code("an argument is not valid"),
    "EE1002": Code("a stream did not finish in time", True),
    "EE9999": Code("an internal error of the runtime", True),
    "EL0001": Code("the card is absent or abnormal"),
    "EL0003": Code("an argument is not valid"),
    "EL0004": Code("out of device memory"),
    "E39007": Code("the helper of the card did not start in time"),
    "E39999": Code("an internal error of the card's process manager", True),
    "EZ9999": Code("an internal error of an operator", True),
    "ERR02200": Code("a call to HCCL failed", True),
}


INNER = ("EI9999", "EE9999", "E39999", "EZ9999")
"""Codes of any internal error: the text has the details."""


class Phrase(NamedTuple):
    """A phrase in errors of any module or program, and what it means; the first one that fits counts."""

    pattern: str
    kind: str
    code: str | None = None
    is_symptom: bool = False
    is_frame: bool = False


PHRASES = (
    Phrase(
        r"507046|507048|507010|107020|stream sync(?:hronize)? time-?out|task timeout|EVENT_WAIT|NOTIFY_WAIT"
        r"|Notify ?Wait|is ABORT|failure abort|fftsplus.{0,40}timeout|Stream Synchronize failed"
        r"|event wait (?:error|timeout)|PrintStreamTimeoutSnapshotInfo",
        "a task did not finish in time",
        None,
        True,
    ),
    Phrase(
        r"client socket has (?:timed out|failed)|[0-9] clients joined",
        "torch's store waited for other processes",
        None,
        True,
    ),
    Phrase(r"\b5070(?:15|35)\b", "the kernel of an operator failed"),
    Phrase(r"HCCL_BUFFSIZE\w{0,8} is too SMALL", "HCCL_BUFFSIZE is too small for an operator"),
    Phrase(
        r"[Ss]tream ?[Ss]ynchronize failed\.?$|SynchronizeStream\w{0,20} error",
        "a task did not finish",
        None,
        True,
        True,
    ),
    Phrase(
        r"HCCL function error|ERR02200|E[IJ][0-9]{4}|HcclAll|hcclComm|HcclComm|WorkHCCL|hccl.{0,40}(?:fail|error)",
        "a call to HCCL failed",
        None,
        True,
        True,
    ),
    Phrase(
        r"ChildFailedError|Connection (?:closed|reset) by peer|Broken pipe|SignalException|KeyboardInterrupt"
        r"|received signal|Signals\.SIG|SIGTERM|gloo.{0,200}(?:Timed out|timed out|closed)|EOFError"
        r"|ConnectionResetError|BrokenPipeError|EngineDeadError|EngineCore|cancelled|executor .{0,40}(?:died|failed)",
        "the program was ended, or lost the connection to another one",
        None,
        True,
    ),
    Phrase(
        r"process [0-9]{1,10} exit with exception|worker exits with exception|Time out nodes are",
        "the launcher saw a process end",
        None,
        True,
    ),
    Phrase(r"kernel_name=aiv_(?:all|reduce|broadcast)", "an operator between cards failed in its kernel", None, True),
    Phrase(
        r"[Aa]icore (?:exception|kernel execute failed|error|timeout|trap)|vector core exception"
        r"|aiv(?:ec(?:tor)?)? error|aicpu exception|Aicpu kernel execute failed",
        "the kernel of an operator failed",
    ),
    Phrase(
        r"out of memory|OutOfMemory|207001|alloc(?:ate|ation)? (?:device )?mem(?:ory)? fail", "out of device memory"
    ),
    Phrase(r"No space left on device", "a disk is full"),
    Phrase(r"undefined symbol: ", "a library lacks a symbol: packages of different versions are installed"),
    Phrase(r"Failed to init the tcp server", "MindSpore's scheduler could not listen on its port (MS_SCHED_PORT)"),
    Phrase(
        r"GetDeviceIndexByPhyId|Set visible device failed",
        "a card is not among those that the process may see (ASCEND_RT_VISIBLE_DEVICES)",
    ),
    Phrase(
        r"aicpu (?:ops )?package failed",
        "the AICPU package could not be loaded",
    ),
    Phrase(r"sdma error|SDMA", "a copy between cards failed", "EI0012"),
    Phrase(r"hdc send msg fail|hdc disconnect|heartbeat", "the connection to the card was lost"),
    Phrase(r"ECC|hbm.{0,40}error|RAS", "a hardware error of the card"),
    Phrase(
        r"device\W{0,3}(?:id|open)?.{0,20}(?:absent|not exist|offline|lost)|207004|drvDeviceOpen",
        "the card is absent or busy",
    ),
)
_PHRASES = tuple((re.compile(phrase.pattern), phrase) for phrase in PHRASES)

_NOISE = re.compile(
    r"call trace|may be due to the following|dump_err_cqe|args dump|args\(|AIC_INFO|\[Dump\]|tilingKey|Nnopbase|aclnn"
    r"|report error module_type|Traceback \(most recent|^\W*$"
)


def of_text(module: str, text: str) -> Fault | None:
    """The fault that a text of any program names, or None if no known phrase is in it."""
    for pattern, phrase in _PHRASES:
        if pattern.search(text):
            return Fault(phrase.code, module, phrase.kind, text.strip()[:MAX_WORD], phrase.is_symptom, phrase.is_frame)
    return None


def of_module(record: Record) -> Fault | None:
    """The error of a module that has no rows; the first one of a process is the most informative."""
    if record.level != "ERROR" or record.module is None or record.module in (*OF_LINKS, "TORCH") or not record.is_whole:
        return None
    if _NOISE.search(record.text) or "Ascend Error Message" in record.text:
        return None
    return of_text(record.module, record.text) or Fault(
        None, record.module, f"an error of {record.module}", record.text.strip()[:MAX_WORD], is_unknown=True
    )


def of_exception(name: str, text: str) -> Fault:
    """An exception that ended a Python program."""
    known = of_text("PYTHON", text)
    return known._replace(kind=f"{name}: {known.kind}") if known else Fault(None, "PYTHON", name, text[:MAX_WORD])


_CODE = re.compile(
    r"(?:^\W{0,4}|Ascend Error Message: ?|[\w/ ]{1,60}\()(?P<code>E(?:[IJELZ][0-9]|C0|39)[0-9]{3})(?:\)|: |(?=\[PID))"
)


def _coded(found: Found) -> Iterator[Fact]:
    record = found.record
    if record.level is not None and not record.is_screen and "Ascend Error Message" not in record.text:
        return
    text = without_prefix(record.text)
    named = _CODE.search(text)
    known = CODES.get(named["code"]) if named else None
    if not named or not known:
        return
    if named["code"] in INNER and not record.is_whole:
        return  # the text that is cut off would tell more
    if named["code"] in INNER and (inner := of_text("HCCL", text)) and not inner.is_frame:
        yield inner._replace(code=inner.code or named["code"], text=record.text[:MAX_WORD].strip())
        return
    is_heading = named["code"] in INNER and text.rstrip().endswith("Inner Error!")
    yield Fault(named["code"], "HCCL", known.kind, record.text[:MAX_WORD].strip(), known.is_symptom, is_heading)


def _of_code(code: str, found: Found, module: str = "HCCL") -> Iterator[Fault]:
    if found.record.level in ("ERROR", None):
        yield Fault(code, module, CODES[code].kind, found.record.text[:MAX_WORD].strip(), CODES[code].is_symptom)


def _torch(found: Found) -> Iterator[Fact]:
    """torch_npu prints its own code, then the error of HCCL that it met."""
    for fact in _of_code("ERR02200", found, "TORCH"):
        yield fact._replace(is_frame=True)


def _waited(found: Found) -> Iterator[Fact]:
    yield Fault("EI0015", "HCCL", "the root timed out waiting for other ranks", found.record.text[:MAX_WORD], True)


def _no_link(found: Found) -> Iterator[Fact]:
    return _of_code("EI0006", found)


def _address(found: Found) -> Iterator[Fact]:
    return _of_code("EI0014", found)


_STAGES = {
    "EnvConfig": "EI0001",
    "RanktableConfig": "EI0004",
    "RanktableCheck": "EI0014",
    "Resource": "EI0007",
    "ParameterConflict": "EI0005",
    "VersionConflict": "EI0008",
    "InvalidArgument": "EI0003",
}


def _stage(found: Found) -> Iterator[Fact]:
    """The tags of 8.5 and newer; those of timeouts say nothing that other rows do not."""
    text = found.record.text
    code = _STAGES[found.match["tag"]]
    if "CMD information" in text or "call trace" in text:
        return iter(())
    if "device ip family" in text:
        code = "EI0001"
    elif 'config "tls"' in text:
        code = "EI0016"
    return _of_code(code, found)


MISMATCH = "gloo received another size than it expected: the ranks are in different collectives"


def _gloo(found: Found) -> Iterator[Fact]:
    """Gloo ends a process that receives more than it expects; that rank or one that sends to it is wrong."""
    yield Fault(None, "TORCH", MISMATCH, found.record.text[:MAX_WORD].strip(), True)


def _gloo_sizes(found: Found) -> Iterator[Fact]:
    """The line after that of `_gloo`, with both sizes."""
    yield Oversized(int(found.match["received"]), int(found.match["expected"]))


def _call(found: Found) -> Iterator[Fact]:
    """torch_npu's text for a call that failed, where the traceback around it is lost."""
    text = found.record.text[:MAX_WORD].strip()
    yield Fault(None, "TORCH", "a call to HCCL or to the runtime failed", text, is_symptom=True, is_frame=True)


def _phrase(found: Found) -> Iterator[Fact]:
    """An error without code and module, as torch_npu and vLLM print it."""
    if found.record.level in ("ERROR", None) and (fault := of_text("RUNTIME", without_prefix(found.record.text))):
        yield fault


def _no_store(found: Found) -> Iterator[Fact]:
    """The line after its warnings about single addresses, of which another one may have been free."""
    kind = "could not listen on the port of torch's store (MASTER_PORT)"
    yield Fault(None, "TORCH", kind, found.record.text[:MAX_WORD].strip())


_OF_CARDS = {
    "'device_ip' is not set correctly": ("EI0014", "the rank table lacks device_ip"),
    "ra reg global mr fail": (None, "memory of the card could not be registered for RDMA"),
    "ibv_cmd_create_cq failed": (None, "the network port of the card has no memory for another queue"),
    "failed runtime result = 507033": (None, "the card could not be opened"),
}
"""A part of an error of HCCL, HCCP or the runtime: the code for it, and what it means."""


def _of_card(found: Found) -> Iterator[Fact]:
    code, kind = _OF_CARDS[found.match[0]]
    if found.record.level in ("ERROR", None):
        yield Fault(code, "HCCL", kind, found.record.text[:MAX_WORD].strip())


_CODED = "|".join(CODES)
ROWS = (
    *(
        Row(key, _CODED, _coded, before=True)
        for key in ("EI0", "EI9", "EJ0", "EC0", "EE1", "EE9", "EL0", "E39007", "E39999", "EZ9999")
    ),
    Row("ERR02200", "ERR02200", _torch, before=True),
    Row(
        "function error:",
        r"(?:HCCL|NPU) function error: [^\n]{1,300}?error code is [0-9]{1,6}\b",
        _call,
        before=True,
        whole=True,
    ),
    Row("is too SMALL", r"HCCL_BUFFSIZE\w{0,8} is too SMALL", _phrase, before=True),
    Row("client socket has", r"client socket has (?:timed out|failed)", _phrase),
    Row("clients joined", r"[0-9]{1,6}/[0-9]{1,6} clients joined", _phrase, before=True),
    *(Row(key, rf"error code(?: is|:) ?{key}\b", _phrase, before=True) for key in ("507015", "507035")),
    *(Row(key, key, _phrase, before=True) for key in ("there is an exception of", "there is a sdma error")),
    Row("out of memory. Tried to allocate", r"NPU out of memory\. Tried to allocate", _phrase, before=True),
    *(
        Row(key, key, _phrase, before=True)
        for key in ("Aicpu kernel execute failed", "aicpu ops package failed", "aicpu package failed")
    ),
    *(Row(key, re.escape(key), _of_card, whole=True) for key in _OF_CARDS),
    Row("failed to listen on any local", r"server socket has failed to listen on any local", _no_store, before=True),
    Row("connection failure between this device", "connection failure between this device and target", _no_link),
    Row("EnforceNotMet", r"instance of 'gloo::EnforceNotMet'", _gloo, before=True, whole=True),
    Row(
        "op.preamble.length",
        r"op\.preamble\.length <= op\.nbytes\. (?P<received>[0-9]{1,15}) vs (?P<expected>[0-9]{1,15})\b",
        _gloo_sizes,
        whole=True,
    ),
    Row("topo exchange server get socket timeout", "topo exchange server get socket timeout", _waited),
    Row("in the ranktable is inconsistent", "in the ranktable is inconsistent", _address, whole=True),
    Row("Stage][", rf"\[Init\w{{1,8}}Stage\]\[(?P<tag>{'|'.join(_STAGES)})\]", _stage, before=True, whole=True),
)
