"""HCCL rank tables, launch scripts and distributed OCR training with MindSpore.

The names in `__all__` are the public API; docs/api.md has an example of each. A name is loaded when it is first used,
so that the import stays cheap. Everything else in the package may change with any release.
"""

TYPE_CHECKING = False  # not from typing, whose import takes longer than that of this module

if TYPE_CHECKING:
    from hccl_kit.base.errors import KitError, ParseError
    from hccl_kit.check.engine import check_text
    from hccl_kit.check.fix import fix_text as fix
    from hccl_kit.check.result import Report
    from hccl_kit.check.table_files import read, write
    from hccl_kit.diagnosis.job import diagnose
    from hccl_kit.diagnosis.verdict.diagnosis import Diagnosis
    from hccl_kit.launch.emitters import emit
    from hccl_kit.launch.files import LaunchFile, TableFile
    from hccl_kit.launch.plan import LaunchPlan, plan
    from hccl_kit.launch.rules import check_plan
    from hccl_kit.runtime.failure import recorded, watch_stacks
    from hccl_kit.runtime.flight_recorder import collective, waiting
    from hccl_kit.runtime.heartbeat import Heartbeat
    from hccl_kit.runtime.worker_env import WorkerEnv
    from hccl_kit.table.device_range import DeviceRange
    from hccl_kit.table.formats import write as to_text
    from hccl_kit.table.hosts import Card, Host
    from hccl_kit.table.model import Device, RankTable, Server, SuperPod
    from hccl_kit.table.operations.convert import convert
    from hccl_kit.table.operations.diff import diff
    from hccl_kit.table.operations.digest import digest
    from hccl_kit.table.operations.generate import generate, generate_cluster
    from hccl_kit.table.operations.merge import merge
    from hccl_kit.table.operations.split import split
    from hccl_kit.table.products import PRODUCTS, Product, find_product

__version__ = "0.1.0"

__all__ = [
    "PRODUCTS",
    "Card",
    "Device",
    "DeviceRange",
    "Diagnosis",
    "Heartbeat",
    "Host",
    "KitError",
    "LaunchFile",
    "LaunchPlan",
    "ParseError",
    "Product",
    "RankTable",
    "Report",
    "Server",
    "SuperPod",
    "TableFile",
    "WorkerEnv",
    "__version__",
    "check_plan",
    "check_text",
    "collective",
    "convert",
    "diagnose",
    "diff",
    "digest",
    "emit",
    "find_product",
    "fix",
    "generate",
    "generate_cluster",
    "merge",
    "plan",
    "read",
    "recorded",
    "split",
    "to_text",
    "waiting",
    "watch_stacks",
    "write",
]

_MODULES = {
    "base.errors": ("KitError", "ParseError"),
    "check.engine": ("check_text",),
    "check.result": ("Report",),
    "check.table_files": ("read", "write"),
    "diagnosis.job": ("diagnose",),
    "diagnosis.verdict.diagnosis": ("Diagnosis",),
    "launch.emitters": ("emit",),
    "launch.files": ("LaunchFile", "TableFile"),
    "launch.plan": ("LaunchPlan", "plan"),
    "launch.rules": ("check_plan",),
    "runtime.failure": ("recorded", "watch_stacks"),
    "runtime.flight_recorder": ("collective", "waiting"),
    "runtime.heartbeat": ("Heartbeat",),
    "runtime.worker_env": ("WorkerEnv",),
    "table.device_range": ("DeviceRange",),
    "table.hosts": ("Card", "Host"),
    "table.model": ("Device", "RankTable", "Server", "SuperPod"),
    "table.operations.convert": ("convert",),
    "table.operations.diff": ("diff",),
    "table.operations.digest": ("digest",),
    "table.operations.generate": ("generate", "generate_cluster"),
    "table.operations.merge": ("merge",),
    "table.operations.split": ("split",),
    "table.products": ("PRODUCTS", "Product", "find_product"),
}
_HOMES = {name: (module, name) for module, names in _MODULES.items() for name in names} | {
    "fix": ("check.fix", "fix_text"),
    "to_text": ("table.formats", "write"),
}
"""Where each name comes from: the imports above once more, for the interpreter."""


if not TYPE_CHECKING:  # with this in sight, a type checker would accept any name

    def __getattr__(name: str) -> object:
        if name not in _HOMES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        module, attribute = _HOMES[name]
        value = getattr(__import__(f"{__name__}.{module}", fromlist=[attribute]), attribute)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
