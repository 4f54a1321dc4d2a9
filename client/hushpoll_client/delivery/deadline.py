"""One deadline for all of an exchange with a server, however slowly it sends."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

__all__ = ["within"]

Result = TypeVar("Result")


def within(seconds: float, act: Callable[[], Result]) -> Result:
    """Return what `act` returns; raise TimeoutError if it takes longer than `seconds`.

    A socket's own limit begins anew with every byte. What is given up ends with the program at the latest.
    """
    done: Future[Result] = Future()

    def run() -> None:
        try:
            done.set_result(act())
        except BaseException as error:  # raised again where it is waited for
            done.set_exception(error)

    Thread(target=run, daemon=True).start()
    try:
        return done.result(seconds)
    except TimeoutError:
        if done.done():
            raise
        raise TimeoutError(f"not finished in {seconds:.0f} seconds") from None
