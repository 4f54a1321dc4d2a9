"""Measurements that the documentation is computed from: one JSON file, a part for each bench."""

from __future__ import annotations

import datetime
import json
from collections.abc import Mapping
from pathlib import Path

__all__ = ["keep"]


def keep(path: Path | None, bench: str, figures: Mapping[str, float]) -> None:
    """Write one bench's figures beside those of the others, with the day; nothing where no file is named."""
    if path is None:
        return
    known = json.loads(path.read_text()) if path.exists() else {}
    known[bench] = {name: float(f"{value:.4g}") for name, value in figures.items()}
    known[bench]["measured_on"] = datetime.datetime.now(datetime.UTC).date().isoformat()
    path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
