"""Mutation testing: change the code in one place at a time, and see whether a test fails.

`python -m tests.prove.mutants` takes a seeded sample of the changes that cosmic-ray knows, in the client and in the
estimators and interval methods. Each mutant gets a copy of the repository and runs the tests of its target until one
fails. Mutants that no test notices are listed. `--sample 0` takes all of them.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import importlib
import math
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

import numpy as np

ROOT = Path(__file__).parent.parent.parent
# A test that waits for so many seconds hangs because of the mutant, which counts as noticed.
SECONDS = 240
# So does one that takes this many times the processor's time that the tests take without a mutant.
MOST_TIMES = 4
# Test files that mention a module are tried before all others.
MENTIONING = 4
LEAST_KILLED = 0.9
# Loaded before a mutant's process is forked: none of it is ours.
PRELOADED = ("numpy", "pandas", "scipy.optimize", "scipy.special", "scipy.stats")


@dataclass(frozen=True)
class Target:
    """A folder whose code is changed, and the tests that must notice, quick ones first."""

    name: str
    folder: str
    tests: tuple[str, ...]


TARGETS = (
    Target(
        "client",
        "client/hushpoll_client",
        (
            "tests/client",
            "tests/server/cli/test_ledger.py",
            "tests/server/cli/test_answer.py",
            "tests/server/cli/test_check.py",
            "tests/server/cli/test_kinds.py",
            "tests/server/respond/test_paper.py",
        ),
    ),
    Target(
        "intervals",
        "analysis/hushpoll_analysis/interval",
        (
            "tests/analysis/interval",
            "tests/analysis/estimand/test_shares_golden.py",
            "tests/analysis/estimand/test_shares.py",
        ),
    ),
    Target(
        "estimators",
        "analysis/hushpoll_analysis/estimand",
        (
            "tests/analysis/interval/test_registry_golden.py",
            "tests/analysis/estimand/test_shares_golden.py",
            "tests/analysis/estimand/test_shares.py",
            "tests/analysis/interval/test_exact_coverage.py",
            "tests/analysis/interval/test_likelihood.py",
            "tests/analysis/interval/test_coverage.py",
            "tests/analysis/estimand/test_constrained.py",
            "tests/analysis/estimand/test_functionals.py",
            "tests/analysis/results/test_numbers.py",
            "tests/analysis/regression/test_latent.py",
            "tests/analysis/interval/test_finite_population.py",
            "tests/analysis/sample/test_replicates.py",
            "tests/analysis/test_arguments.py",
            "tests/analysis/results/test_survey.py",
        ),
    ),
)


@dataclass(frozen=True)
class Mutant:
    """One change: cosmic-ray's operator, applied to its n-th place in a file."""

    path: str
    operator: str
    occurrence: int

    def code(self, original: str) -> str | None:
        """Return the changed file, or None where the change makes no difference to a running program."""
        from cosmic_ray.mutating import mutate_code
        from cosmic_ray.plugins import get_operator

        changed = mutate_code(original, get_operator(self.operator)(), self.occurrence)
        if changed is None or _executed(changed) == _executed(original):
            return None
        return str(changed)


class _WithoutAnnotations(ast.NodeTransformer):
    """Drop what does not run: annotations, which are never evaluated here."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant(None)
        return self.generic_visit(node)


def _executed(code: str) -> str | None:
    """Return a form in which two files are equal where only annotations differ; None for a file that cannot be read."""
    try:
        return ast.dump(_WithoutAnnotations().visit(ast.parse(code)))
    except SyntaxError:
        return None


def mutants_of(target: Target) -> list[Mutant]:
    """Return every change that cosmic-ray knows for a target's files."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.plugins import get_operator, operator_names

    operators = {name: get_operator(name) for name in operator_names()}
    usable = {name: operator() for name, operator in operators.items() if not operator.arguments()}
    mutants = []
    for path in sorted((ROOT / target.folder).rglob("*.py")):
        nodes = list(ast_nodes(get_ast(path.read_text("utf-8"))))
        for name, operator in usable.items():
            positions = sum(1 for node in nodes for _ in operator.mutation_positions(node))
            mutants += [Mutant(str(path.relative_to(ROOT)), name, number) for number in range(positions)]
    return mutants


def sampled(mutants: list[Mutant], sample: int, seed: int) -> list[tuple[Mutant, str]]:
    """Return a random sample of the mutants that can make a difference, each with its code."""
    order = np.random.default_rng(seed).permutation(len(mutants))
    chosen: list[tuple[Mutant, str]] = []
    for number in order:
        mutant = mutants[number]
        code = mutant.code((ROOT / mutant.path).read_text("utf-8"))
        if code is not None:
            chosen.append((mutant, code))
        if len(chosen) == sample:
            break
    return chosen


@contextlib.contextmanager
def copies(count: int) -> Iterator[list[Path]]:
    """Copy the repository's files, once per worker."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "client", "analysis", "server", "tests", "docs", "bench", "pyproject.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split("\0")
    with tempfile.TemporaryDirectory(prefix="mutants") as folder:
        folders = [Path(folder) / str(number) for number in range(count)]
        for copy in folders:
            for name in filter(None, listed):
                (copy / name).parent.mkdir(parents=True, exist_ok=True)
                if (ROOT / name).exists():
                    shutil.copyfile(ROOT / name, copy / name)
        yield folders


def run_tests(copy: Path, tests: Sequence[str], seconds: int | None = None) -> tuple[int, float]:
    """Run tests in a forked process until one fails; return its status and the processor's time in seconds."""
    pid = os.fork()
    if pid == 0:
        status = 70
        try:
            os.chdir(copy)
            sink = os.open("log", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
            if seconds is not None:
                resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            # Mutants read what the first run compiled, and leave nothing of their own there.
            sys.dont_write_bytecode = seconds is not None
            sys.path[:0] = [str(copy / name) for name in ("client", "analysis", "server", ".")]
            import pytest

            options = ["-x", "-q", "-p", "no:cacheprovider", "-o", f"timeout={SECONDS}", f"--rootdir={copy}"]
            options += ["-m", "not postgres"]
            status = int(pytest.main([*options, *tests]))
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    _, status, used = os.wait4(pid, 0)
    return os.waitstatus_to_exitcode(status), used.ru_utime + used.ru_stime


def mentioning(tests: Sequence[str], path: str) -> list[str]:
    """Return the test files that mention a module most often."""
    module = re.compile(rf"\b{re.escape(Path(path).stem.strip('_'))}\b")
    files = [file for test in tests for file in (sorted((ROOT / test).rglob("test_*.py")) or [ROOT / test])]
    mentions = {str(file.relative_to(ROOT)): len(module.findall(file.read_text("utf-8"))) for file in files}
    ranked = sorted((name for name in mentions if mentions[name]), key=lambda name: -mentions[name])
    return ranked[:MENTIONING]


def is_noticed(copy: Path, target: Target, path: str, seconds: int) -> bool:
    """Return whether a test of the target fails in this copy."""
    likely = mentioning(target.tests, path)
    return any(run_tests(copy, tests, seconds)[0] for tests in (likely, target.tests) if tests)


def difference(mutant: Mutant, code: str) -> str:
    """Return the changed lines."""
    lines = difflib.unified_diff(
        (ROOT / mutant.path).read_text("utf-8").splitlines(), code.splitlines(), lineterm="", n=0
    )
    changed = [line for line in lines if not line.startswith(("---", "+++"))]
    return "\n    ".join([f"{mutant.path} {mutant.operator.removeprefix('core/')}", *changed])


def survivors(target: Target, chosen: list[tuple[Mutant, str]], workers: int) -> list[str]:
    """Run every mutant; return the changes that no test noticed."""
    unnoticed: list[str] = []
    done = 0
    with copies(workers) as folders, ThreadPoolExecutor(workers) as pool:
        free: SimpleQueue[Path] = SimpleQueue()
        for folder in folders:
            status, used = run_tests(folder, target.tests)
            assert status == 0, (folder / "log").read_text()
            free.put(folder)
        seconds = 20 + round(MOST_TIMES * used)

        def run(mutant: Mutant, code: str) -> None:
            nonlocal done
            folder = free.get()
            try:
                (folder / mutant.path).write_text(code, "utf-8")
                if not is_noticed(folder, target, mutant.path, seconds):
                    unnoticed.append(difference(mutant, code))
                    print(f"SURVIVED {unnoticed[-1]}", flush=True)
            finally:
                shutil.copyfile(ROOT / mutant.path, folder / mutant.path)
                free.put(folder)
            done += 1
            if done % 25 == 0:
                print(
                    f"{target.name}: {done} of {len(chosen)}, {len(unnoticed)} survived",
                    file=sys.stderr,
                    flush=True,
                )

        for job in [pool.submit(run, *mutant) for mutant in chosen]:
            job.result()
    return unnoticed


def summary(target: Target, population: int, sample: int, survived: int) -> tuple[str, bool]:
    """Return a line with the share killed, its 95 % interval (Wilson), and whether it is enough."""
    killed, z = (sample - survived) / sample, 1.96
    middle = (killed + z * z / (2 * sample)) / (1 + z * z / sample)
    half = z * math.sqrt(killed * (1 - killed) / sample + z * z / (4 * sample**2)) / (1 + z * z / sample)
    line = (
        f"{target.name}: {sample - survived} of {sample} mutants killed, {killed:.1%}"
        f" (95 % interval {middle - half:.1%} to {middle + half:.1%}), of {population:,} possible changes"
    )
    return line, killed >= LEAST_KILLED


def main() -> int:
    """Run the targets; return 1 where fewer than nine in ten mutants were noticed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(target.name for target in TARGETS)}")
    parser.add_argument("--sample", type=int, default=300, help="mutants per target; 0 for all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    lines, enough = [], True
    for target in TARGETS:
        if options.names and target.name not in options.names:
            continue
        possible = mutants_of(target)
        chosen = sampled(possible, options.sample or len(possible), options.seed)
        for name in PRELOADED:
            importlib.import_module(name)
        unnoticed = survivors(target, chosen, options.workers)
        line, is_enough = summary(target, len(possible), len(chosen), len(unnoticed))
        lines.append(line)
        enough = enough and is_enough
    print(*lines, sep="\n", flush=True)
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
