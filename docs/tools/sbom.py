"""Write the bill of materials of a release (CycloneDX 1.5): every package that `requirements/run.txt` pins.

    python docs/tools/sbom.py [FILE]

Without FILE it is printed. The same requirements give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
_PIN = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)(?: *; *([^\\]*))?", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def bill(requirements: str, version: str) -> dict[str, Any]:
    """Make the bill from the text of a requirements file."""
    pins = list(_PIN.finditer(requirements))
    ends = [pin.start() for pin in pins[1:]] + [len(requirements)]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": f"pkg:pypi/hushpoll@{version}",
                "name": "hushpoll",
                "version": version,
                "purl": f"pkg:pypi/hushpoll@{version}",
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": [
            *(_component(pin, requirements[pin.start() : end]) for pin, end in zip(pins, ends, strict=True)),
            _bootstrap(),
        ],
    }


def _bootstrap() -> dict[str, Any]:
    """Return the style sheet that bootstrap-flask brings along and our server serves: browsers load it."""
    import flask_bootstrap

    path = Path(flask_bootstrap.__file__).parent / "static" / "bootstrap5" / "css" / "bootstrap.min.css"
    found = re.search(r"Bootstrap\s+v(\d+\.\d+\.\d+)", path.read_text("utf-8"))
    assert found, f"{path.name} does not say its version"
    purl = f"pkg:npm/bootstrap@{found[1]}"
    return {
        "type": "library",
        "bom-ref": purl,
        "name": "bootstrap",
        "version": found[1],
        "purl": purl,
        "licenses": [{"license": {"id": "MIT"}}],
        "hashes": [{"alg": "SHA-256", "content": hashlib.sha256(path.read_bytes()).hexdigest()}],
    }


def licences(name: str) -> list[dict[str, Any]]:
    """Return the licences that an installed package names; one for other systems, which is not here, names none."""
    try:
        fields = metadata(name)
    except PackageNotFoundError:
        return [{"license": {"name": "not known: not installed on this system"}}]
    if expression := fields.get("License-Expression"):
        return [{"expression": expression}]
    classifiers = [
        line.rpartition(" :: ")[2]
        for line in fields.get_all("Classifier", [])
        if line.startswith("License ::")
    ]
    text = (fields.get("License") or "").strip().splitlines()
    named = classifiers or text[:1] or ["not stated"]
    return [{"license": {"name": one}} for one in named]


def _component(pin: re.Match[str], block: str) -> dict[str, Any]:
    name, version, marker = pin[1].lower(), pin[2], (pin[3] or "").strip()
    purl = f"pkg:pypi/{name}@{version}"
    found: dict[str, Any] = {
        "type": "library",
        "bom-ref": purl,
        "name": name,
        "version": version,
        "purl": purl,
        "licenses": licences(name),
        # Each file that may be installed: a wheel for one system or another, or the source.
        "externalReferences": [
            {
                "type": "distribution",
                "url": f"https://pypi.org/project/{name}/{version}/",
                "hashes": [{"alg": "SHA-256", "content": digest} for digest in sorted(_HASH.findall(block))],
            }
        ],
    }
    if marker:
        found["properties"] = [{"name": "python:marker", "value": marker}]
    return found


def main() -> None:
    """Print the bill, or write it."""
    # Not what is installed: that may be of an earlier commit.
    command = [sys.executable, "-m", "hatchling", "version"]
    version = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    made = bill((ROOT / "requirements" / "run.txt").read_text(), version)
    text = json.dumps(made, indent=2, sort_keys=True) + "\n"
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
