"""Follow one answer from the report to the figure: which files handle it, in which classes.

    .venv/bin/python bench/answer_way.py [--page] [--people 800] [--verbose]

One survey with one choice question is answered, sealed and shown in this program, with seeded chance, five times: three
times with the same last report, once with each of the two other ones. A local variable that is the same in the first
runs and another in the two others depends on that report; its file is on the way. Printed are these files and the
classes of such variables. The figure is the question's picture; with --page it is the whole page of results, which
says more about the same numbers. What the browser does first, and the shapes that are not classes, are the lists
BROWSER and SHAPES below; tests/test_architecture.py checks that they name what is there.
"""

from __future__ import annotations

import argparse
import enum
import hashlib
import json
import os
import secrets
import subprocess
import sys
import tempfile
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
REPORTS = (0, 0, 0, 1, 2)
SAME = 3
PACKAGES = ("hushpoll_client/", "hushpoll_analysis/", "hushpoll_server/")

BROWSER = {
    "server/hushpoll_server/respond/static/form.js": "class Form",
    "server/hushpoll_server/respond/static/page.js": "newReport",
    "client/hushpoll_client/js/kind.js": "row: (answer)",
    "client/hushpoll_client/js/mechanism.js": "deviceAnswer",
    "client/hushpoll_client/js/channel.js": "pick(answer",
    "client/hushpoll_client/js/report.js": "newReport(",
    "client/hushpoll_client/js/survey.js": "canonical(",
}
"""Files of the browser that handle the answer to a choice question, with the name of what does it."""

SHAPES = (
    "checked radio button",
    "index of the answer",
    "report: {id, reports, group}",
    "record on the device (JSON in localStorage)",
    "body of the request (JSON)",
    "digits of the reports in the body",
    "packed record (bytes)",
    "encrypted box, as a row of the inbox",
    "row of the sealed reports",
    "column of one question's fields (bytes)",
    "Counter of a column",
    "row of counts (packed integers)",
    "{question: counts} as lists",
    "{question: counts} as arrays",
    "array of counts",
    "array of shares",
    "limits of intervals as arrays",
    "SVG",
)
"""What holds the answer and is no class of ours; a list or tuple of the same thing is not counted again."""

_NOT_FOLLOWED = {"Store", "Config", "Database", "Survey", "Question", "Engine"}


class Variable(NamedTuple):
    """One local variable, or the returned value, of one function."""

    file: str
    function: str
    name: str


def fingerprint(value: Any, depth: int = 0) -> str:
    """Return a text that is the same for equal values; addresses and objects of libraries count for nothing."""
    if isinstance(value, (enum.Enum, int, float, str, bytes, type(None))):
        return repr(value)
    kind = type(value)
    if isinstance(value, (np.ndarray, np.generic)):
        return f"{value.dtype}{value.shape}{hashlib.sha1(value.tobytes()).hexdigest()}"
    if depth > 4 or kind.__name__ in _NOT_FOLLOWED:
        return kind.__name__
    if isinstance(value, Mapping):
        pairs = [(fingerprint(key, depth + 1), fingerprint(item, depth + 1)) for key, item in value.items()]
        return f"{pairs}"
    if isinstance(value, (list, tuple)):
        return f"{[fingerprint(item, depth + 1) for item in value]}"
    if kind.__module__.startswith("hushpoll"):
        fields = dict(getattr(value, "__dict__", {}))
        fields |= {slot: getattr(value, slot, None) for slot in getattr(kind, "__slots__", ())}
        return kind.__name__ + fingerprint(fields, depth + 1)
    return kind.__name__


class Recorder:
    """The values of all local variables of the product's functions, while `recording`."""

    def __init__(self) -> None:
        self.recording = False
        self.values: dict[Variable, dict[str, str]] = defaultdict(dict)
        self._files: dict[CodeType, str | None] = {}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any] | None:
        """Follow a call into the product, as sys.settrace asks."""
        if not self.recording or self._file(frame.f_code) is None:
            return None
        frame.f_trace_lines = False
        return self._local

    def _local(self, frame: FrameType, event: str, argument: Any) -> Callable[..., Any]:
        if event == "return":
            file = self._file(frame.f_code) or ""
            for name, value in [*frame.f_locals.items(), ("return", argument)]:
                variable = Variable(file, frame.f_code.co_qualname, name)
                digest = hashlib.sha1(fingerprint(value).encode()).hexdigest()
                self.values[variable][digest] = _class(value)
        return self._local

    def _file(self, code: CodeType) -> str | None:
        if code not in self._files:
            path = Path(code.co_filename).as_posix()
            at = max((path.rfind(package) for package in PACKAGES), default=-1)
            self._files[code] = None if at < 0 or "site-packages" in path else path[at:]
        return self._files[code]


def _class(value: Any) -> str:
    """Return the name of a class of the product; of a list, that of what is in it; else the empty string."""
    if isinstance(value, (list, tuple)) and value and not hasattr(value, "_fields"):
        return _class(value[0])
    kind = type(value)
    if kind.__module__.startswith("hushpoll"):
        return kind.__name__
    return ""


def run(report: int, people: int, page: bool) -> dict[Variable, dict[str, str]]:
    """Answer, seal and show the survey in this process; return what the variables of the last report's way held."""
    chance = np.random.default_rng(7)
    os.urandom = chance.bytes
    secrets.token_hex = lambda nbytes=None: chance.bytes(nbytes or 16).hex()
    recorder = Recorder()
    threading.settrace(recorder)

    from hushpoll_client import Survey
    from hushpoll_server import create_app
    from hushpoll_server.collect.seal import seal_due
    from hushpoll_server.config import Config
    from hushpoll_server.current_store import get_store

    from tests.server.accounts_kit import add_people, signed_in
    from tests.serving import make_ready

    question = {
        "id": "reason",
        "kind": "choice",
        "text": "Main reason?",
        "options": ["Time", "Fear", "Habit"],
    }
    mechanism = {"name": "krr", "epsilon": 1.0}
    survey = Survey.from_draft(
        {"hushpoll": 1, "title": "One", "intro": "", "questions": [{**question, "mechanism": mechanism}]}
    )
    with tempfile.TemporaryDirectory() as folder:
        config = Config(data=Path(folder) / "data", seal_every=86_400, testing=True, reports_per_minute=0)
        make_ready(config)
        app = create_app(config)
        with app.app_context():
            store = get_store()
        add_people(store)
        store.publish(survey, "owner")
        reader = signed_in(app, store, "owner")

        def send(number: int, value: int) -> None:
            body = json.dumps({"id": f"{number:032x}", "reports": [value]}, separators=(",", ":"))
            url = f"/api/surveys/{survey.hash}/reports"
            assert app.test_client().post(url, data=body, content_type="application/json").status_code == 201

        for number in range(1, people):
            send(number, int(chance.integers(3)))
        recorder.recording = True
        sys.settrace(recorder)
        send(people, report)
        seal_due(store, wait=False)
        address = f"/surveys/{survey.hash}/report" + ("" if page else "/reason.svg")
        assert reader.get(address).status_code == 200
        sys.settrace(None)
        recorder.recording = False
        store.writer.stop()
        store.close()
    return recorder.values


def on_the_way(runs: Sequence[Mapping[Variable, Mapping[str, str]]]) -> dict[Variable, set[str]]:
    """Return the variables that depend on the report, with the classes of what they held."""
    first, same, others = runs[0], runs[1:SAME], runs[SAME:]
    return {
        variable: {kind for digest, kind in values.items() if digest not in others[0].get(variable, {})}
        for variable, values in first.items()
        if all(set(values) == set(again.get(variable, {})) for again in same)
        and all(set(values) != set(other.get(variable, {})) for other in others)
    }


def _in_another_process(report: int, people: int, page: bool) -> dict[Variable, dict[str, str]]:
    """Run where nothing is cached yet."""
    command = [sys.executable, __file__, "--report", str(report), "--people", str(people)]
    printed = subprocess.run(
        [*command, *(["--page"] if page else [])],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"},
        stdout=subprocess.PIPE,
        check=True,
    )
    return {Variable(*variable): values for variable, values in json.loads(printed.stdout)}


def main() -> None:
    """Print the files and the representations, and how many there are."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--page", action="store_true", help="the whole page of results, not the figure alone")
    parser.add_argument("--people", type=int, default=800)
    parser.add_argument("--verbose", action="store_true", help="also the variables")
    parser.add_argument("--report", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.report is not None:
        values = run(arguments.report, arguments.people, arguments.page)
        print(json.dumps(list(values.items())))
        return
    variables = on_the_way(
        [_in_another_process(report, arguments.people, arguments.page) for report in REPORTS]
    )
    files: dict[str, list[str]] = {file: [what] for file, what in BROWSER.items()}
    for variable in variables:
        files.setdefault(variable.file, []).append(f"{variable.function}: {variable.name}")
    classes = sorted(set().union(*variables.values()) - {""})
    for file, names in files.items():
        print(file, *(names if arguments.verbose else ()), sep="\n    ")
    print("\nclasses:", ", ".join(classes))
    print("shapes:", "; ".join(SHAPES))
    print(f"\n{len(files)} files, {len(classes) + len(SHAPES)} representations")


if __name__ == "__main__":
    main()
