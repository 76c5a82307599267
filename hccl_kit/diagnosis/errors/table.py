"""All rows, the codes that they explain, and how codes are found in a line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from hccl_kit.diagnosis.errors import (
    acl_numbers,
    agreement,
    card_network,
    cards,
    codes,
    commands,
    ending,
    environment,
    frameworks,
    health,
    hixl,
    joining,
    launchers,
    links,
    numbers,
    operators,
    ports,
    pytorch,
    rank_table,
    rendezvous,
    results,
    runtime,
    runtime_numbers,
    starting,
    torch_npu,
    values,
    waits,
)
from hccl_kit.diagnosis.errors.row import KnownError

ROWS: tuple[KnownError, ...] = (
    *rank_table.ROWS,
    *starting.ROWS,
    *ending.ROWS,
    *launchers.ROWS,
    *environment.ROWS,
    *rendezvous.ROWS,
    *ports.ROWS,
    *joining.ROWS,
    *links.ROWS,
    *agreement.ROWS,
    *card_network.ROWS,
    *health.ROWS,
    *hixl.ROWS,
    *waits.ROWS,
    *operators.ROWS,
    *runtime.ROWS,
    *cards.ROWS,
    *commands.ROWS,
    *codes.ROWS,
    *runtime_numbers.ROWS,
    *acl_numbers.ROWS,
    *numbers.ROWS,
    *torch_npu.ROWS,
    *pytorch.ROWS,
    *frameworks.ROWS,
    *values.ROWS,
    *results.ROWS,
)
"""Of rows that fit a line equally well, the first one counts."""

_PAGES = (*(row for row in reversed(ROWS) if row.patterns), *(row for row in reversed(ROWS) if not row.patterns))
BY_CODE: Mapping[str, KnownError] = {code: row for row in _PAGES for code in row.codes}
"""Every code, and the row that is its page: EI0006, 507048, "HcclResult 9", HCCL_E_TIMEOUT."""

CODES: Mapping[str, str] = {
    code: BY_CODE[code].what for code in sorted(BY_CODE) if re.fullmatch(r"E[IJ][0-9]{4}", code)
}
"""HCCL's own codes to their meaning."""

CONTEXT = re.compile(
    r"(?i:hccl|hcom|hccp|torch_npu|mindspore|mooncake|hixl|adxl|rank ?table)|[Aa]scend(?!ing|ant|ed|s)|davinci[_0-9]"
    r"|\bNPU|\bnpu|\bacl(?:[A-Z]|rt[A-Z]|nn[A-Z])|\bAclNN_"
    r"|\bACL (?:stream|error|function)|\brt[A-Z][a-zA-Z]{4}|\bERR0[0-9]{4}\b"
    r"|\bE(?:[CIJELZH][0-9]|3[0-9]|19|40)[0-9]{3}:|\]\[FILE:[\w.+-]{1,80}\] ?\[LINE:|InnerCode=0x"
    r"|runtime result = [1-9]|\bhisi_logs/|\bUCE ERROR\b|\bHBM MULTI BIT ECC\b"
    r"|\] ?(?:HCCL|HCCP|ROCE|RUNTIME|DRV|TDT|GE|APP|ASCENDCL|TSCH|TSD|FE|AICPU|IDEDD|CCECPU)\([0-9]{1,10},"
)
"""Words that only logs of Ascend's software have."""

_MAYBE = re.compile(
    r"E[CIJELZH1349][0-9]{4}|HCCL_[ES]|HcclResult|hcclRet|\[0x0|\bret|[Cc]ode ?(?:is|:|=)|error code"
    r"|(?<![0-9])[1235][0-9]{5}(?![0-9])"
)
"""Something that every line with a code has, and most other lines do not."""
_OWN = re.compile(r"\b(?P<code>E[IJ][0-9]{4})\b")
_OTHER = re.compile(
    r"\b(?P<code>E(?:[CELZH][0-9]|3[0-9]|19|40)[0-9]{3})(?=[:)\]]|$)|^ *(?P<alone>E[CELZH0-9][0-9]{4}) *$", re.MULTILINE
)
_NAME = re.compile(r"\bHCCL_E_[A-Z_]{2,20}\b")
_HEX = re.compile(
    r"\[0x0{4,12}50[01]0{0,6}(?P<result>[0-9a-fA-F]{1,2})\]|\berrNo ?\[0x0{8,15}(?P<short>[0-9a-fA-F]{1,2})\]"
)
_RESULT = re.compile(
    r"\bhcclRet ?(?:- ?>|:|=) ?(?P<ret>[0-9]{1,3})\b"
    r"|\bHCCL [Ee]rror [Cc]ode ?[:=] ?(?P<torch>[0-9]{1,3})\b|\bHcclResult ?[:=(]? ?(?P<named>[0-9]{1,2})\b"
    r"|status == HCCL_SUCCESS ?\((?P<checked>[0-9]{1,2}) vs"
)
_RESULT_OF_HCCL = re.compile(
    r"\berror code (?:is|:|=)? ?(?P<code>[0-9]{1,2})\b"
    r"|\b(?:ret |ret(?:urn)?(?: code)?(?:\[|\(| ?[:=] ?))(?P<ret>[0-9]{1,2})\b"
)
_OF_HCCL = re.compile(r"(?i:hccl|hcom)|\] ?HCCL\([0-9]{1,10},")
_NUMBER = re.compile(
    r"(?<![0-9A-Za-z_./-])(?<![0-9]:)(?:1[06][137][0-9]{3}|[15]0000[0-9]|[235]07[0-9]{3}|[25]03900|[135]61[0-9]{3})(?![0-9A-Za-z_/-]|\.[0-9])"
)
_NAMES_NUMBER = re.compile(
    r"(?:error ?code|errorcode|error|ret(?:urn|Code)?|result|status|code|aclError)[^0-9]{0,16}$|\bfailed ?: ?$",
    re.IGNORECASE,
)


def may_have_code(text: str) -> bool:
    """Whether there may be a code in many lines."""
    return _MAYBE.search(text) is not None


def codes_in(line: str) -> Iterator[str]:
    """The codes of a line that have a page, in the order of their kinds.

    A number counts only next to a word of Ascend: other programs print "error code is 11" too.
    """
    if not may_have_code(line):
        return
    for pattern in (_OWN, _OTHER):
        for match in pattern.finditer(line):
            code = match["code"] or match["alone"]
            if code in BY_CODE:
                yield code
    yield from (name[0] for name in _NAME.finditer(line) if name[0] in BY_CODE)
    yield from _numbers_in(line)
    for result in _results_in(line):
        if f"HcclResult {result}" in BY_CODE:
            yield f"HcclResult {result}"


def _numbers_in(line: str) -> Iterator[str]:
    """Numbers of the runtime and of HIXL: after "error code is" and the like, or alone."""
    has_context = CONTEXT.search(line) is not None
    for match in _NUMBER.finditer(line):
        is_named = _NAMES_NUMBER.search(line[max(0, match.start() - 40) : match.start()]) is not None
        if match[0] in BY_CODE and ((has_context and is_named) or line.strip() == match[0]):
            yield match[0]


def _results_in(line: str) -> Iterator[int]:
    for match in _HEX.finditer(line):
        yield int(match["result"] or match["short"], 16)
    for match in _RESULT.finditer(line):
        yield int(match["ret"] or match["torch"] or match["named"] or match["checked"])
    if _OF_HCCL.search(line):
        for match in _RESULT_OF_HCCL.finditer(line):
            yield int(match["code"] or match["ret"])


def only_maybe(text: str) -> str | None:
    """The code of a text that is nothing but "error code is 11": an HcclResult if there is one, else that number."""
    match = re.fullmatch(r"\s*(?:error code (?:is|:|=)? ?|ret\[)(?P<result>[0-9]{1,6})\]?\.?\s*", text)
    if not match:
        return None
    for code in (f"HcclResult {int(match['result'])}", match["result"]):
        if code in BY_CODE:
            return code
    return None


def meaning(code: str) -> str | None:
    """What a code means, as the start of a sentence; None if it is not known."""
    return BY_CODE[code].what if code in BY_CODE else None


def fix(code: str) -> str | None:
    """What to do about a code; None if it is not known."""
    return (BY_CODE[code].fix or None) if code in BY_CODE else None
