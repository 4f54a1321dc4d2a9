"""Seconds that a logit with a random intercept takes, next to lme4 on the same data: `python bench/mixed.py 100000`.

Needs R with lme4 (`apt-get install r-cran-lme4`). Answers are direct, because lme4 knows no randomized ones; a
randomized outcome is fitted too.
"""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from hushpoll_analysis import logit
from hushpoll_client import mechanisms

SCRIPT = """
suppressMessages(library(lme4)); d <- read.csv("people.csv")
for (points in c(1, 15)) {
  took <- system.time(fit <- glmer(y ~ x + z + (1 | g), d, binomial, nAGQ = points))
  cat("lme4, points", points, ":", took[["user.self"]], "s of processor time;", format(fixef(fit), digits = 6), "\\n")
}
"""


def main(n: int) -> None:
    """Fit n respondents in groups of 50 and print the processor time of each fit."""
    rng = np.random.default_rng(1)
    group, shift = rng.integers(0, n // 50, n), 0.7 * rng.normal(size=n // 50)
    x, z = rng.normal(size=n), rng.integers(0, 3, n)
    truth = (rng.random(n) < 1 / (1 + np.exp(-(-0.5 + 0.6 * x + 0.3 * z + shift[group])))).astype(int)
    coin = mechanisms.warner(epsilon=2)
    reports = np.where(rng.random(n) < math.exp(2) / (1 + math.exp(2)), truth, 1 - truth)
    frame = pd.DataFrame({"y": truth, "r": reports, "x": x, "z": z, "g": group})
    for points in (1, 15):
        for outcome, channels in (("y", {}), ("r", {"r": coin})):
            start = time.process_time()
            fit = logit(f"{outcome} ~ x + z + (1 | g)", frame, channels, points=points)
            took = time.process_time() - start
            name = "randomized" if channels else "direct"
            print(f"hushpoll, {name}, points {points}: {took:.1f} s of processor time; {fit.coef.round(4)}")
    program = shutil.which("Rscript")
    if program is None:
        print("R is not installed: nothing to compare with")
        return
    with tempfile.TemporaryDirectory() as folder:
        frame.to_csv(Path(folder) / "people.csv", index=False)
        subprocess.run([program, "-e", SCRIPT], cwd=folder, check=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
