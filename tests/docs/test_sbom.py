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
    document = bill(PINNED, "1.2.3")
    assert (document["bomFormat"], document["specVersion"]) == ("CycloneDX", "1.5")
    assert document["metadata"]["component"]["version"] == "1.2.3"
    pinned = [component for component in document["components"] if component["name"] != "bootstrap"]
    versions = {(component["name"], component["version"]) for component in pinned}
    assert versions == {
        (name.lower(), version) for name, version in re.findall(r"^([\w.-]+)==([^ ;\\]+)", PINNED, re.M)
    }
    assert {"cryptography", "flask", "gunicorn"} <= {name for name, _ in versions}
    hashes = [entry for component in pinned for entry in component["externalReferences"][0]["hashes"]]
    assert len(hashes) == PINNED.count("--hash=sha256:")
    assert len({component["bom-ref"] for component in document["components"]}) == len(document["components"])
    assert json.dumps(document, sort_keys=True) == json.dumps(bill(PINNED, "1.2.3"), sort_keys=True)


def test_every_part_has_its_licence_and_the_style_sheet_is_one_of_them() -> None:
    bill = runpy.run_path(str(ROOT / "docs" / "tools" / "sbom.py"))["bill"]
    parts = {component["name"]: component for component in bill(PINNED, "1.2.3")["components"]}
    assert all(component["licenses"] for component in parts.values())
    assert parts["flask"]["licenses"] == [{"expression": "BSD-3-Clause"}]
    assert parts["bootstrap"]["licenses"] == [{"license": {"id": "MIT"}}]
    assert parts["bootstrap"]["purl"].startswith("pkg:npm/bootstrap@5.")
    unknown = [
        name
        for name, component in parts.items()
        if "not" in str(component["licenses"][0].get("license", ""))[:25]
    ]
    assert len(unknown) <= 5, unknown
