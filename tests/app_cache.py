"""What applications of one test process share, so that each test's new application costs milliseconds.

Most tests of the server make an application. Flask then compiles one function per address, and every template at its
first use: 80 ms and up to 150 ms. Both depend on the code alone, so equal ones are compiled once per process.
"""

from __future__ import annotations

from types import CodeType
from typing import Any

from flask import Flask
from jinja2 import BytecodeCache
from jinja2.bccache import Bucket
from werkzeug.routing import Rule

_compile_builder = Rule._compile_builder
_builders: dict[tuple[object, ...], Any] = {}


def _shared_builder(rule: Rule, append_unknown: bool = True) -> Any:
    """Return the function that writes a rule's addresses; it gets the rule as an argument, so equal rules share it."""
    if rule.defaults:
        return _compile_builder(rule, append_unknown)
    key = (*rule._trace, append_unknown)
    if key not in _builders:
        _builders[key] = _compile_builder(rule, append_unknown)
    return _builders[key]


class SharedTemplates(BytecodeCache):
    """Compiled templates in memory, by name and checksum of their source."""

    def __init__(self) -> None:
        self.codes: dict[tuple[str, str], CodeType | None] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self.codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        self.codes[bucket.key, bucket.checksum] = bucket.code


def share_compiled_code() -> None:
    """Let all applications of this process share their compiled address functions and templates."""
    Rule._compile_builder = _shared_builder  # type: ignore[method-assign]
    Flask.jinja_options = {"bytecode_cache": SharedTemplates()}
