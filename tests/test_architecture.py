"""The floors of the house: imports point down, the two wings never meet, and the command line starts light."""

import ast
import subprocess
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent.parent / "hccl_kit"

# The first component below hccl_kit -> (wing, floor). A module may import only lower floors of its own wing or of the
# shared rooms; rooms inside one folder are free among themselves.
FLOORS = {
    "arguments": ("shared", 0),
    "loopback": ("shared", 0),
    "host_name": ("shared", 0),
    "screen": ("shared", 0),
    "slips": ("shared", 0),
    "errors": ("shared", 1),
    "finding": ("shared", 1),
    "rank_table": ("shared", 2),
    "products": ("shared", 2),
    "ip": ("shared", 0),
    "stop": ("shared", 3),
    "device_range": ("shared", 2),
    "hostlist": ("shared", 2),
    "worker_env": ("shared", 2),
    "atomic_file": ("shared", 2),
    "bounded_file": ("shared", 2),
    "document": ("shared", 3),
    "schema": ("shared", 4),
    "formats": ("shared", 5),
    "ctrl_c": ("shared", 2),
    "output_place": ("shared", 2),
    "heartbeat": ("shared", 3),
    "failure": ("shared", 3),
    "world": ("shared", 6),
    "rules": ("launch", 6),
    "discovery": ("launch", 6),
    "launch": ("launch", 6),
    "preflight": ("launch", 7),
    "check": ("launch", 7),
    "catalogue": ("launch", 8),
    "sayings": ("launch", 7),
    "pages": ("launch", 7),
    "merge": ("launch", 7),
    "diff": ("launch", 7),
    "digest": ("launch", 7),
    "convert": ("launch", 7),
    "split": ("launch", 8),
    "generate": ("launch", 8),
    "narrow": ("launch", 8),
    "explain": ("launch", 9),
    "report": ("launch", 8),
    "line_diff": ("shared", 1),
    "fix": ("launch", 8),
    "show": ("launch", 8),
    "cli": ("launch", 11),
    "ocr": ("training", 7),
}
HEAVY = ("mindspore", "mpi4py", "numpy", "cv2", "torch")


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> set[str]:
    """The rooms of this package that a module imports, anywhere in its text except under TYPE_CHECKING."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)
        for inner in ast.walk(node)
    }
    rooms = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        if isinstance(node, ast.ImportFrom) and node.module == "hccl_kit":
            names = [f"hccl_kit.{alias.name}" for alias in node.names]
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        rooms |= {name.split(".")[1] for name in names if name.startswith("hccl_kit.")}
    return rooms - {"__version__"}


def test_every_room_has_its_floor() -> None:
    rooms = {room_of(path) for path in PACKAGE.rglob("*.py")} - {"__init__"}
    assert rooms - FLOORS.keys() == set()


def test_imports_point_down() -> None:
    wrong = []
    for path in PACKAGE.rglob("*.py"):
        room = room_of(path)
        if room == "__init__":
            continue
        wing, floor = FLOORS[room]
        for other in imports_of(path) - {room}:
            other_wing, other_floor = FLOORS[other]
            if other_floor >= floor or other_wing not in (wing, "shared"):
                wrong.append(f"{path.relative_to(PACKAGE)} imports {other}")
    assert wrong == []


def test_command_line_loads_nothing_heavy() -> None:
    code = (
        "import sys, hccl_kit.cli, hccl_kit.cli.gen, hccl_kit.cli.check, hccl_kit.world;"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
