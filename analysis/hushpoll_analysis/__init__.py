"""From report counts to estimates with intervals.

Names are loaded when first used, so that importing the package stays cheap; `__init__.pyi` lists them. No module
carries the name of a public function: `from hushpoll_analysis import estimate` is the function, whatever was imported
before.
"""

from __future__ import annotations

from functools import cache
from typing import Any


@cache
def _lazy() -> tuple[Any, Any, list[str]]:
    # Here, because the command line reads `cli` also where the analysis' libraries are not installed.
    try:
        import lazy_loader
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "hushpoll_analysis needs more libraries; run: pip install 'hushpoll[analysis]'", name=error.name
        ) from None

    names: tuple[Any, Any, list[str]] = lazy_loader.attach_stub(__name__, __file__)
    return names


def __getattr__(name: str) -> Any:
    load, _, names = _lazy()
    if name == "__all__":
        return names
    return load(name)


def __dir__() -> list[str]:
    return list(_lazy()[1]())
