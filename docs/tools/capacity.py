"""Write the tables of docs/scale.md from the benches' measurements: `python docs/tools/capacity.py [--check]`.

The benches write docs/data/scale.json (`--out docs/data/scale.json`); every number of the tables follows from it, from
the prices below, and from nothing else.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1]
PAGE, DATA = DOCS / "scale.md", DOCS / "data" / "scale.json"
MARK = "<!-- {} by docs/tools/capacity.py -->"
# What is reckoned with; a table says so itself.
EURO_PER_CORE_HOUR = 0.05
EURO_PER_GIGABYTE_MONTH = 0.10
MONTHS = 3
USED_SHARE = 0.5
"""Of a machine, so that the others wait little."""
CORES = 2
SIZES = (1_000, 100_000, 1_000_000, 10_000_000, 100_000_000)
MILLION = 1_000_000


def per_million(kept: dict[str, Any]) -> dict[str, float]:
    """Give the processor's seconds and the bytes that a million respondents cost."""
    visit = kept["crowd"]["visit_processor_ms"] / 1e3
    return {
        "visit": MILLION * visit,
        "seal": MILLION * kept["results"]["counting_us"] / 1e6,
        "count": MILLION * kept["scale"]["ns_each"] / 1e9,
        "database": MILLION * kept["submit"]["sqlite_bytes_each"],
        "parts": MILLION * kept["scale"]["bytes_each"],
    }


def counting(kept: dict[str, Any], n: int) -> float:
    """Give the seconds that counting the parts of n reports takes; few take as long as the fewest measured."""
    fewest = min(value for key, value in kept["growth"].items() if key.endswith("_seconds"))
    return max(fewest, kept["scale"]["ns_each"] * n / 1e9)


def money(costs: dict[str, float], n: int) -> float:
    """Give what n respondents cost in euros: processors, and the database for some months."""
    hours = (costs["visit"] + costs["seal"] + costs["count"]) / 3600 * n / MILLION
    gigabytes = (costs["database"] + costs["parts"]) / 1e9 * n / MILLION
    return hours * EURO_PER_CORE_HOUR + gigabytes * MONTHS * EURO_PER_GIGABYTE_MONTH


def costs_table(kept: dict[str, Any]) -> str:
    """Write what a million respondents cost."""
    costs = per_million(kept)
    rows = [
        ("open the page with all it asks for, and send", f"{costs['visit']:,.0f} s of a core", "—"),
        ("keep counts while sealing", f"{costs['seal']:.2g} s", "—"),
        (
            "sealed reports of three questions and what is kept of their ids",
            "—",
            f"{costs['database'] / 1e6:,.0f} MB",
        ),
        ("Parquet parts of ten questions", "—", f"{costs['parts'] / 1e6:,.0f} MB"),
        ("count the parts again", f"{costs['count']:.2g} s", "—"),
    ]
    lines = ["| a million respondents | processor | disk |", "| --- | --- | --- |"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    told = (
        f"Together {money(costs, MILLION):.2f} euros, at {EURO_PER_CORE_HOUR:.2f} euros for a core's hour and "
        f"{EURO_PER_GIGABYTE_MONTH:.2f} euros for a gigabyte's month, kept for {MONTHS} months."
    )
    return "\n".join([*lines, "", told])


def capacity_table(kept: dict[str, Any]) -> str:
    """Write what surveys of several sizes take on a machine of two cores that is half used."""
    costs = per_million(kept)
    lines = [
        "| respondents | can come within | database | a results page | count the parts | euros |",
        "| ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for n in SIZES:
        hours = costs["visit"] * n / MILLION / (CORES * USED_SHARE) / 3600
        lines.append(
            f"| {n:,} | {_time(3600 * hours)} | {_size(costs['database'] * n / MILLION)}"
            f" | {kept['results']['page_ms']:.0f} ms | {_time(counting(kept, n))}"
            f" | {money(costs, n):,.2f} |"
        )
    day = ", ".join(f"{name} {kept[name]['measured_on']}" for name in sorted(kept))
    return "\n".join([*lines, "", f"One machine of {CORES} cores, half of it used. Measured: {day}."])


def national(kept: dict[str, Any]) -> str:
    """Work out ten million respondents in a week."""
    n, costs = 10_000_000, per_million(kept)
    busiest = n / 7 * 0.1 / 3600  # a tenth of a day's people in its busiest hour
    cores = busiest * costs["visit"] / MILLION / USED_SHARE
    writes = kept["submit"]["postgresql_per_second"]
    nodes = -(-cores // CORES)
    database, parts = (_size(costs[name] * n / MILLION) for name in ("database", "parts"))
    return (
        f"- The busiest hour has a tenth of a day's people: {busiest:,.0f} visits a second, {cores:,.0f} cores that are"
        f" half used. Nodes of {CORES} cores behind nginx: {nodes:,.0f}.\n"
        f"- One PostgreSQL took {writes:,.0f} reports a second here, sealing meanwhile:"
        f" {writes / busiest:.1f} times the busiest second.\n"
        f"- Afterwards {database} of database and {parts} of Parquet parts, counted in"
        f" {_time(counting(kept, n))} by one machine.\n"
        f"- {money(costs, n):,.0f} euros, machines that stand idle not counted."
    )


def growth_table(kept: dict[str, Any]) -> str:
    """Write how counting grows with the number of reports."""
    found = kept["growth"]
    lines = [
        "| reports | counted in | of DuckDB alone | each | peak of memory |",
        "| ---: | ---: | ---: | ---: | ---: |",
    ]
    sizes = sorted(int(key.removesuffix("_seconds")) for key in found if key.endswith("_seconds"))
    for n in sizes:
        seconds = found[f"{n}_seconds"]
        lines.append(
            f"| {n:,} | {seconds:.2f} s | {found[f'{n}_of_duckdb']:.2f} | {1e9 * seconds / n:.0f} ns"
            f" | {found[f'{n}_peak_mb']:.0f} MB |"
        )
    day = f"Measured {found['measured_on']}, at a load of {found['load']:.1f} on {CORES} cores."
    return "\n".join([*lines, "", day])


def models_line(kept: dict[str, Any]) -> str:
    """Write what a model of many reports took."""
    found = kept["models"]
    return (
        f"`python bench/models.py` makes them of {found['respondents']:,.0f} reports, each in a process of its own: a"
        f" logit with two covariates took {found['logit_seconds']:.0f} s from the start of Python, and none of the"
        f" tables and models more than {found['most_megabytes']:.0f} MB. Measured {found['measured_on']}."
    )


def weighted_line(kept: dict[str, Any]) -> str:
    """Write what reports of many reports under a sample design took."""
    found = kept["weighted"]
    return (
        f"`python bench/models.py --weighted` makes reports of ten questions and {found['respondents']:,.0f}"
        " respondents, each in a process of its own: with weights and strata"
        f" {found['processor_seconds']:.0f} s of processor time from the start of Python, where DuckDB's own sums of"
        f" weights take {found['bare_processor_seconds']:.0f} s; with clusters or groups too, none more than"
        f" {found['most_megabytes']:.0f} MB. Measured {found['measured_on']}."
    )


def _time(seconds: float) -> str:
    for limit, unit, name in ((90, 1, "s"), (5400, 60, "min"), (172_800, 3600, "h")):
        if seconds < limit:
            return f"{seconds / unit:.1f} {name}" if seconds / unit < 10 else f"{seconds / unit:.0f} {name}"
    return f"{seconds / 86_400:.0f} days"


def _size(count: float) -> str:
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if count >= unit:
            return f"{count / unit:.1f} {name}"
    return f"{count / 1e3:.0f} KB"


def page_with_tables(page: str, kept: dict[str, Any]) -> str:
    """Put the tables between their marks."""
    tables = (
        ("models", models_line),
        ("weighted", weighted_line),
        ("growth", growth_table),
        ("costs", costs_table),
        ("capacity", capacity_table),
        ("national", national),
    )
    for name, made in tables:
        begin, end = MARK.format(name), MARK.format(f"end of {name}")
        before, rest = page.split(begin)
        _, after = rest.split(end)
        page = f"{before}{begin}\n\n{made(kept)}\n\n{end}{after}"
    return page


def main() -> None:
    """Write the page, or check it."""
    page, kept = PAGE.read_text("utf-8"), json.loads(DATA.read_text())
    made = page_with_tables(page, kept)
    if "--check" in sys.argv[1:]:
        if made != page:
            sys.exit(
                "docs/scale.md is not what docs/data/scale.json gives; run: python docs/tools/capacity.py"
            )
        return
    PAGE.write_text(made, "utf-8")


if __name__ == "__main__":
    main()
