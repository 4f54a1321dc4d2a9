"""The bill of materials names every pinned package, with its hashes, and is the same each time."""

from __future__ import annotations

import json
import re
import runpy
from pathlib import Path

ROOT = Path(__file__).parents[2]
PINNED = (ROOT / "requirements" / "run.txt").read_text()


def test_every_pin_is_in_the_bill_with_its_hashes() -> None:
    bill = runpy.run_path(str(ROOT / "docs" / "tools" / "sbom.py"))["bill"]
    made = bill(PINNED, "1.2.3")
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.5")
    assert made["metadata"]["component"]["version"] == "1.2.3"
    pinned = [part for part in made["components"] if part["name"] != "bootstrap"]
    found = {(part["name"], part["version"]) for part in pinned}
    assert found == {
        (name.lower(), version) for name, version in re.findall(r"^([\w.-]+)==([^ ;\\]+)", PINNED, re.M)
    }
    assert {"cryptography", "flask", "gunicorn"} <= {name for name, _ in found}
    hashes = [entry for part in pinned for entry in part["externalReferences"][0]["hashes"]]
    assert len(hashes) == PINNED.count("--hash=sha256:")
    assert len({part["bom-ref"] for part in made["components"]}) == len(made["components"])
    assert json.dumps(made, sort_keys=True) == json.dumps(bill(PINNED, "1.2.3"), sort_keys=True)


def test_every_part_has_its_licence_and_the_style_sheet_is_one_of_them() -> None:
    bill = runpy.run_path(str(ROOT / "docs" / "tools" / "sbom.py"))["bill"]
    parts = {part["name"]: part for part in bill(PINNED, "1.2.3")["components"]}
    assert all(part["licenses"] for part in parts.values())
    assert parts["flask"]["licenses"] == [{"expression": "BSD-3-Clause"}]
    assert parts["bootstrap"]["licenses"] == [{"license": {"id": "MIT"}}]
    assert parts["bootstrap"]["purl"].startswith("pkg:npm/bootstrap@5.")
    unknown = [
        name for name, part in parts.items() if "not" in str(part["licenses"][0].get("license", ""))[:25]
    ]
    assert len(unknown) <= 5, unknown
