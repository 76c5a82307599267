"""The public API: lazy imports, types and docstrings of each name, and the examples of its page."""

import ast
import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import hccl_kit
from tests.places import ROOT

PAGE = ROOT / "docs" / "api.md"
EXAMPLE = re.compile(r"```python\n(.*?)```\n\n```text\n(.*?)```", re.DOTALL)


def loaded_by(statement: str) -> list[str]:
    """The modules of the package that a statement loads."""
    program = f"{statement}\nimport sys; print(*[name for name in sys.modules if name.startswith('hccl_kit')])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_importing_the_package_loads_no_other_module_of_it() -> None:
    assert loaded_by("import hccl_kit; dir(hccl_kit)") == ["hccl_kit"]


def test_a_name_loads_only_what_it_needs() -> None:
    assert "hccl_kit.table.device_range" in loaded_by("from hccl_kit import DeviceRange")
    assert not [name for name in loaded_by("from hccl_kit import DeviceRange") if name.startswith("hccl_kit.check")]


def test_type_checkers_and_the_interpreter_see_the_same_names() -> None:
    tree = ast.parse(Path(hccl_kit.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and "hccl_kit." in str(node.module)]
    typed = {alias.asname or alias.name: (node.module, alias.name) for node in imports for alias in node.names}
    homes = {name: (f"hccl_kit.{module}", attribute) for name, (module, attribute) in hccl_kit._HOMES.items()}
    assert typed == homes
    assert set(hccl_kit.__all__) == {*homes, "__version__"}
    assert set(hccl_kit.__all__) <= set(dir(hccl_kit))


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'chek'"):
        hccl_kit.chek  # type: ignore[attr-defined]  # noqa: B018 - the typo is the test


@pytest.mark.parametrize("name", hccl_kit.__all__)
def test_each_name_is_typed_and_documented(name: str) -> None:
    value = getattr(hccl_kit, name)
    if isinstance(value, str | tuple):  # constants: __version__, PRODUCTS
        return
    documented = [value]
    if inspect.isclass(value):
        documented += [member for key, member in vars(value).items() if is_public(key, member)]
    for one in documented:
        function = getattr(one, "fget", None) or getattr(one, "__func__", None) or getattr(one, "func", None) or one
        assert inspect.getdoc(function), one
        if inspect.isfunction(function):
            hints = {**function.__annotations__}
            assert "return" in hints, one
            parameters = [key for key in inspect.signature(function).parameters if key not in ("self", "cls")]
            assert set(parameters) <= hints.keys(), one


def is_public(key: str, member: object) -> bool:
    is_method = inspect.isfunction(member) or isinstance(member, property | classmethod | staticmethod)
    return not key.startswith("_") and (is_method or hasattr(member, "func"))  # func: of a cached_property


def test_each_name_has_an_example() -> None:
    code = "".join(python for python, _ in EXAMPLE.findall(PAGE.read_text(encoding="utf-8")))
    assert [name for name in hccl_kit.__all__ if f"hccl_kit.{name}" not in code] == []


def test_the_examples_print_what_the_page_shows(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    text = PAGE.read_text(encoding="utf-8")
    examples = EXAMPLE.findall(text)
    assert len(examples) == text.count("```python")
    program = "\nprint('\\0', end='')\n".join(python for python, _ in examples)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=tmp_path)
    printed = done.stdout.split("\0")
    if request.config.getoption("--update-golden"):
        results = iter(printed)
        PAGE.write_text(EXAMPLE.sub(lambda one: f"```python\n{one[1]}```\n\n```text\n{next(results)}```", text))
    assert printed == [shown for _, shown in EXAMPLE.findall(PAGE.read_text(encoding="utf-8"))]


def test_values_that_a_user_can_fix_are_errors_of_the_kit() -> None:
    table = hccl_kit.generate("10.0.0.1", [(0, "10.1.0.1")])
    plan = hccl_kit.plan(table, ["true"])
    file = hccl_kit.TableFile("t.json", hccl_kit.to_text(table))
    calls: dict[str, Callable[[], object]] = {
        "accepted: 1.0, 1.2, 2.0, template2": lambda: hccl_kit.convert(table, "9"),
        "accepted: 1.0, 1.2, 2.0": lambda: hccl_kit.generate_cluster([], version="9"),
        "is not a launcher; accepted: bash, ": lambda: hccl_kit.emit("x\x1b", plan, file),
        ". is a folder, so": lambda: hccl_kit.write(table, "."),
        "null byte": lambda: hccl_kit.write(table, "a\0b"),
        "File name too long": lambda: hccl_kit.write(table, "a" * 300),
        "'train.log' is one path, not a list of paths": lambda: hccl_kit.diagnose("train.log"),
        "the command is one text, not a list of words": lambda: hccl_kit.plan(table, "python train.py"),
        "/dev/full is not a regular file": lambda: hccl_kit.write(table, "/dev/full"),
    }
    for words, call in calls.items():
        with pytest.raises(hccl_kit.KitError, match=re.escape(words)) as refused:
            call()
        assert str(refused.value).isprintable()
