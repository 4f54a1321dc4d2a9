"""The parameters of mechanisms as flags: derived from what the mechanisms declare, never listed here."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

import click
from hushpoll_client.mechanism import Mechanism, Parameter

Command = TypeVar("Command", bound=Callable[..., Any])


def parameter_options(
    mechanisms: Iterable[type[Mechanism]], but: tuple[str, ...] = ()
) -> Callable[[Command], Command]:
    """Return a command one flag for each parameter that some mechanism takes."""
    parameters_by_name: dict[str, list[Parameter]] = {}
    for mechanism in mechanisms:
        for parameter in mechanism.declared_parameters:
            parameters_by_name.setdefault(parameter.name, []).append(parameter)

    def decorate(command: Command) -> Command:
        for name, parameters in reversed(parameters_by_name.items()):
            if name not in but:
                help_text = " ".join(dict.fromkeys(parameter.help for parameter in parameters))
                command = click.option(flag(name), metavar=parameters[0].shape.metavar, help=help_text)(
                    command
                )
        return command

    return decorate


def needed_options(keys: Iterable[str]) -> Callable[[Command], Command]:
    """Return a command one flag for each number that some mechanism has to know of the question."""

    def decorate(command: Command) -> Command:
        for key in keys:
            help_text = f"What the question says as `{key}`, where the mechanism needs it."
            command = click.option(flag(key), metavar="C", help=help_text)(command)
        return command

    return decorate


def read_needed(
    mechanism: type[Mechanism], flags: Mapping[str, str | None], keys: Iterable[str], command: str
) -> dict[str, int]:
    """Read what the mechanism has to know of the question; refuse what it does not need."""
    numbers = {}
    for key in keys:
        text = flags.get(key)
        if key in mechanism.needs and text is None:
            raise click.UsageError(f"{mechanism.name} needs {flag(key)}; see hushpoll {command} --help")
        if key not in mechanism.needs and text is not None:
            raise click.UsageError(f"{flag(key)} does not belong to {mechanism.name}; remove it")
        if text is not None:
            (numbers[key],) = read_counts(text, flag(key))[:1]
    return numbers


def read_parameters(mechanism: type[Mechanism], flags: Mapping[str, str | None]) -> dict[str, Any]:
    """Read the flags that were given; what the mechanism does not take is refused rather than ignored."""
    parameters: dict[str, Any] = {}
    for key, text in flags.items():
        if text is None:
            continue
        parameter = mechanism.takes_key(key)
        if parameter is None:
            takes = ", ".join(flag(accepted.name) for accepted in mechanism.declared_parameters)
            raise click.UsageError(
                f"{flag(key)} does not belong to {mechanism.name}, which takes {takes}; remove it"
            )
        parameters[key] = _value(parameter, text)
    return parameters


def check_complete(mechanism: type[Mechanism], parameters: Mapping[str, Any], command: str) -> None:
    """Refuse a mechanism without a parameter that it cannot do without."""
    for pair in mechanism.one_of:
        if sum(key in parameters for key in pair) != 1:
            flags = " or ".join(flag(key) for key in pair)
            raise click.UsageError(f"{mechanism.name} needs either {flags}, one of the two")
    for parameter in mechanism.declared_parameters:
        if parameter.missing and parameter.name not in parameters:
            raise click.UsageError(
                f"{mechanism.name} needs {flag(parameter.name)}; see hushpoll {command} --help"
            )


def read_counts(text: str, name: str) -> list[int]:
    """Read whole numbers, separated by commas."""
    numbers = []
    for position, piece in enumerate((piece.strip() for piece in text.split(",")), 1):
        if not (piece.isascii() and piece.isdigit() and len(piece) <= 15):
            raise click.UsageError(
                f"{name}: {piece!r} at position {position} is not a whole number; write them as 580,420"
            )
        numbers.append(int(piece))
    return numbers


def flag(key: str) -> str:
    """Return the flag of a parameter."""
    return "--" + key.replace("_", "-")


def _value(parameter: Parameter, text: str) -> Any:
    shape, name = parameter.shape, flag(parameter.name)
    value = shape.from_text(text)
    if shape.integer:
        numbers = read_counts(text, name)
        value = numbers
        if not shape.listed:
            value = numbers[0]
    if shape.length is not None and len(value) != shape.length:
        raise click.UsageError(
            f"{name} takes two numbers, {shape.metavar}, got {len(value)}; write them as in {shape.example}"
        )
    return value
