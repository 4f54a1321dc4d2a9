"""Parquet files, where pyarrow is installed: CSV files need nothing."""

from __future__ import annotations

import glob
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hushpoll_analysis.errors import AnalysisError


def has_arrow() -> bool:
    """Return whether Parquet files can be read and written here."""
    return find_spec("pyarrow") is not None


def arrow(what: object = "Parquet files") -> Any:
    """Return pyarrow with its Parquet part; say what to install where there is none."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise AnalysisError(
            f"{what}: Parquet needs pyarrow, which is not installed",
            'run pip install "hushpoll[parquet]", or use a .csv file',
        ) from None
    return pyarrow


def are_many(where: str | Path) -> bool:
    """Return whether this is a folder, or a pattern such as `parts/*.parquet`, rather than the name of one file."""
    path = Path(where)
    return path.is_dir() or (not path.exists() and any(sign in str(where) for sign in "*?["))


def files_at(where: str | Path) -> list[Path]:
    """Return the Parquet files of a folder, those of a pattern, or the one file that is named."""
    path = Path(where)
    if path.is_dir():
        return sorted(path.glob("*.parquet"))
    if are_many(where):
        return sorted(map(Path, glob.glob(str(where))))
    return [path]
