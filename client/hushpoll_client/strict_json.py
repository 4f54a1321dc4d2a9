"""JSON as strict as the promise needs: no duplicate keys, NaN, lone surrogates or deep nesting; one way to write it."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any, NoReturn

from .errors import DocumentError
from .messages import msg

__all__ = ["dumps", "loads"]

_FAULTS = {
    str(fault): fault
    for fault in (
        msg("Expecting value"),
        msg("Expecting property name enclosed in double quotes"),
        msg("Expecting ':' delimiter"),
        msg("Expecting ',' delimiter"),
        msg("Illegal trailing comma before end of object"),
        msg("Illegal trailing comma before end of array"),
        msg("Extra data"),
        msg("Unterminated string starting at"),
        msg("Invalid control character at"),
        msg("Invalid \\escape"),
        msg("Invalid \\uXXXX escape"),
        msg("Unexpected UTF-8 BOM (decode using utf-8-sig)"),
    )
}
"""What Python's reader says, so that pages can say it in another language."""


def loads(data: bytes | str, max_depth: int = 8, floats: bool = True, constants: bool = False) -> Any:
    """Parse JSON strictly; decimals come back as `Decimal`, or are refused when `floats` is false.

    With `constants` NaN and Infinity come back as `Decimal` too, for a caller that refuses them where they stand.
    """
    try:
        text = str(data, "utf-8") if isinstance(data, bytes) else data
    except UnicodeDecodeError as error:
        raise DocumentError(
            msg("not UTF-8 at byte {position}", position=error.start), "save the file as UTF-8"
        ) from None
    decoder = json.JSONDecoder(
        object_pairs_hook=_unique,
        parse_constant=Decimal if constants else _no_constant,
        parse_float=Decimal if floats else _no_float,
    )
    try:
        value = decoder.decode(text)
    except json.JSONDecodeError as error:
        raise DocumentError(
            msg(
                "not JSON: {fault} at line {line}, column {column}",
                fault=_FAULTS.get(error.msg, error.msg),
                line=error.lineno,
                column=error.colno,
            ),
            "correct that place",
        ) from None
    except RecursionError:
        raise DocumentError(msg("nested deeper than {most} levels", most=max_depth), "flatten it") from None
    except DocumentError:
        raise
    except ValueError:
        raise DocumentError("holds a number with thousands of digits", "shorten it") from None
    _walk(value, max_depth)
    return value


def dumps(value: object) -> bytes:
    """Write the canonical bytes: sorted keys, no spaces, UTF-8 unescaped."""
    return json.dumps(
        value, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
    ).encode()


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise DocumentError(msg("key {twice!r} appears twice in one object", twice=twice[:40]), "keep one")
    return value


def _no_constant(name: str) -> NoReturn:
    raise DocumentError(msg("{name} is not JSON", name=name), "write a finite number")


def _no_float(text: str) -> NoReturn:
    raise DocumentError(
        msg("{given} is not a whole number", given=text[:40]), "only whole numbers are allowed here"
    )


def _walk(value: object, depth: int) -> None:
    if isinstance(value, str):
        _text(value)
    elif isinstance(value, (dict, list)):
        if depth == 0:
            raise DocumentError("nested too deeply", "flatten it")
        items = value
        if isinstance(value, dict):
            items = list(value.values())
            for key in value:
                _text(key)
        for item in items:
            if type(item) is not int:
                _walk(item, depth - 1)


def _text(value: str) -> None:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise DocumentError("holds half of a character (a lone surrogate)", "remove it") from None
