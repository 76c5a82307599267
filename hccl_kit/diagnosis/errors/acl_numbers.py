"""Numbers that ACL and the operators (aclnn) return, by acl_base.h and the pages of aclnn of CANN 8 (2024 to 2026)."""

from __future__ import annotations

from hccl_kit.diagnosis.errors.codes import FIRST, page_of
from hccl_kit.diagnosis.errors.row import KnownError

_START = "while the program starts: CANN's compiler of operators did not start, as EC0010 or EH9999 near it tell"

ROWS: tuple[KnownError, ...] = (
    page_of(
        "100000", "an argument of a call to ACL is not valid", "the codes below it name the argument", role="result"
    ),
    page_of(
        "100002",
        "ACL was initialised twice in one process",
        "two libraries of the process each initialise it: torch_npu, and acl.init or aclInit of another one",
        apart="the import or call just before: acl.init, aclInit, another framework in the same process",
        fix="initialise it once: import torch_npu first and leave acl.init out, or give the other library a process of"
        " its own",
    ),
    page_of("500000", "an internal error of ACL", _START, "the codes below it", role="result"),
    page_of("500001", "ACL failed", _START, "the codes below it", role="result"),
    page_of(
        "500002",
        "the graph engine of CANN failed, usually because an operator could not be compiled or is not supported",
        "the codes below it: E40021, EZ3003, EZ9999",
        role="result",
        apart=f"{FIRST}: the operator is in the message",
        fix="run `hccl-kit explain` on the codes below it",
    ),
    page_of("500003", "the runtime of CANN failed", "the codes below it (EE)", role="result"),
    page_of("500004", "the driver failed", "the codes below it (EL); dmesg", role="result"),
    page_of("161001", "an argument of an operator (aclnn) is a null pointer", "the call of the operator"),
    page_of("161002", "an argument of an operator (aclnn) is not valid", "shape, type or layout of an input"),
    page_of(
        "361001",
        "a call to the runtime failed inside an operator (aclnn)",
        "the runtime's code near it",
        role="result",
    ),
    page_of("561000", "an error inside an operator (aclnn)", "the EZ or EE code near it", role="result"),
    page_of(
        "561002",
        "the tiling of an operator (aclnn) failed: its sizes do not fit",
        "the EZ code near it has the reason, such as HCCL_BUFFSIZE in MoE dispatch and combine",
        role="result",
    ),
    page_of(
        "561003",
        "the kernel of an operator is not installed",
        "the package of kernels is missing or of another chip or release",
    ),
    page_of(
        "561103",
        "a step inside an operator (aclnn) gave no result",
        "the EZ code near it has the reason: a kernel that is not installed for this chip, or a shape or type that it"
        " refuses",
        role="result",
        fix="run `hccl-kit explain` on the EZ code",
    ),
)
