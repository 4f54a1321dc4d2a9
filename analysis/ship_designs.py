"""Write the designs that come with the package: scales, bins and worst-case means at the slider's stops.

Run it again after a change of the search (and raise VERSION in design_cache.py): python analysis/ship_designs.py
What is kept on this machine is used, so that it can be stopped and started; XDG_CACHE_HOME names another place.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hushpoll_analysis.planning.margins import SLIDER_STOPS
from hushpoll_analysis.planning.optimal import OptimalChannel, best, best_worst_case, design_cache
from hushpoll_client.exact import read_decimal, spell
from tqdm import tqdm

SCALES = range(2, 12)
BINS = range(12, 21)
GRIDS = range(2, 22)


def asked() -> Iterator[tuple[dict[str, Any], Any]]:
    """Yield every design with its key and how to find it."""
    for stop in SLIDER_STOPS:
        epsilon = spell(read_decimal(stop, "epsilon"))
        pairs = [(options, target) for options in SCALES for target in ("cumulative", "mean", "shares")]
        for options, target in [*pairs, *((options, "cumulative") for options in BINS)]:
            key = {"options": options, "epsilon": epsilon, "target": target}
            yield key, lambda options=options, target=target, epsilon=epsilon: best(options, epsilon, target)
        for grid in GRIDS:
            key = {"grid": grid, "epsilon": epsilon, "target": "worst"}
            yield key, lambda grid=grid, epsilon=epsilon: best_worst_case(grid, epsilon)


def main() -> None:
    """Find them all and write the file."""
    shipped = {}
    for key, find in tqdm(list(asked())):
        design: OptimalChannel = find()
        shipped[design_cache.key(key)] = design.to_json()
    path = Path(design_cache.__file__).with_name(design_cache.SHIPPED)
    text = json.dumps(shipped, sort_keys=True, separators=(",", ":")).encode("ascii")
    path.write_bytes(gzip.compress(text, compresslevel=9, mtime=0))
    print(f"{len(shipped)} designs, {len(text):,} bytes, {path.stat().st_size:,} compressed: {path.name}")


if __name__ == "__main__":
    main()
