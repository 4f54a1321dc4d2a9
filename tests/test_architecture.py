"""Rules between the packages: imports go one way, the client needs nothing, randomness is the system's."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from bench.answer_way import BROWSER

ROOT = Path(__file__).parent.parent
ROOMS = {"client": "hushpoll_client", "analysis": "hushpoll_analysis", "server": "hushpoll_server"}
MAY_IMPORT = {
    "client": {"hushpoll_client"},
    "analysis": {"hushpoll_client", "hushpoll_analysis"},
    "server": {"hushpoll_client", "hushpoll_analysis", "hushpoll_server"},
}


@cache
def tree_of(file: Path) -> ast.Module:
    """A file's syntax, read once for all tests here."""
    return ast.parse(file.read_text("utf-8"))


@cache
def imports(file: Path) -> frozenset[str]:
    """The top-level packages that a file imports, wherever the import stands."""
    packages: set[str] = set()
    for node in ast.walk(tree_of(file)):
        if isinstance(node, ast.Import):
            packages |= {name.name.split(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            packages.add(node.module.split(".")[0])
    return frozenset(packages)


def files(room: str) -> list[Path]:
    modules = sorted((ROOT / room / ROOMS[room]).rglob("*.py"))
    assert modules
    return modules


@pytest.mark.parametrize("room", ROOMS)
def test_imports_go_one_way(room: str) -> None:
    for file in files(room):
        ours = imports(file) & set(ROOMS.values())
        assert ours <= MAY_IMPORT[room], f"{file.relative_to(ROOT)} imports {ours - MAY_IMPORT[room]}"


def test_the_client_needs_the_standard_library_only_and_its_commands_click() -> None:
    for file in files("client"):
        allowed = {"hushpoll_client", "click"} if file.parent.name == "cli" else {"hushpoll_client"}
        foreign = imports(file) - set(sys.stdlib_module_names) - allowed
        assert not foreign, f"{file.name} imports {foreign}"


@pytest.mark.parametrize("room", ROOMS)
def test_randomness_is_the_operating_systems(room: str) -> None:
    for file in files(room):
        assert "random" not in imports(file), file.name
    for script in (ROOT / room).rglob("*.js"):
        assert "Math.random" not in script.read_text(), script.name


def top_level(tree: ast.Module) -> set[str]:
    """What a module defines by itself, as opposed to what it imports."""
    names: set[str] = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


def listed(tree: ast.Module) -> set[str] | None:
    """What `__all__` lists; None where there is none."""
    for node in tree.body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return set(ast.literal_eval(node.value))
    return None


def imported_names(name: str, file: Path, tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Every (module, name) that a module imports from another."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            parts = name.split(".") if file.name == "__init__.py" else name.split(".")[:-1]
            above = parts[: len(parts) - node.level + 1] if node.level else []
            yield from (
                (".".join([*above, *filter(None, [node.module])]), alias.name) for alias in node.names
            )


def test_all_lists_what_other_modules_import() -> None:
    modules: dict[str, tuple[Path, ast.Module]] = {}
    for room in ROOMS:
        for file in files(room):
            name = ".".join(file.relative_to(ROOT / room).with_suffix("").parts).removesuffix(".__init__")
            modules[name] = (file, tree_of(file))
    used: dict[str, set[str]] = {}
    for name, (file, tree) in modules.items():
        for source, what in imported_names(name, file, tree):
            used.setdefault(source, set()).add(what)
    assert {"Channel", "SCALE"} <= used["hushpoll_client.channel"], "the search finds nothing"
    for name, (_, tree) in modules.items():
        public = listed(tree)
        if public is not None:
            missing = used.get(name, set()) & top_level(tree) - public
            assert not missing, f"{name}: __all__ lacks {sorted(missing)}"


@pytest.mark.parametrize("file", BROWSER)
def test_the_way_of_an_answer_names_what_the_browser_has(file: str) -> None:
    """`bench/answer_way.py` follows an answer through Python by itself; the browser's part is a list."""
    assert BROWSER[file] in (ROOT / file).read_text()
