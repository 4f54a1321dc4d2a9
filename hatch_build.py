"""What a build adds: compiled translations, the SHA-256 of every file that browsers run, and the documentation.

An editable install gets its translations compiled next to their sources, and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from typing import Any

from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = {
    "hushpoll_client/js": "client/hushpoll_client/js",
    "hushpoll_server/respond/static": "server/hushpoll_server/respond/static",
}
TRANSLATIONS = "server/hushpoll_server/i18n/translations"
DOCS = ("*.md", "images/*")
SHARED = {"hushpoll_server/static/palette.css": "server/hushpoll_server/static/palette.css"}


def compile_catalogues(folder: Path) -> list[Path]:
    """Write a .mo file next to each messages.po that is newer; return the paths of all .mo files."""
    targets = []
    for source in sorted(folder.glob("*/LC_MESSAGES/messages.po")):
        target = source.with_suffix(".mo")
        targets.append(target)
        if target.exists() and target.stat().st_mtime_ns > source.stat().st_mtime_ns:
            continue
        with source.open("rb") as file:
            catalog = read_po(file, locale=source.parent.parent.name)
        # In one step: a server may read the old one at this moment.
        unfinished = target.with_suffix(f".{os.getpid()}")
        with unfinished.open("wb") as file:
            write_mo(file, catalog)
        unfinished.replace(target)
    return targets


class BuildHook(BuildHookInterface):  # type: ignore[misc]
    """Adds files that are not in the repository to a wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile the translations; for a wheel write the list of hashes, and name all of it among its files."""
        root = Path(self.root)
        compiled = compile_catalogues(root / TRANSLATIONS)
        if version == "editable":
            return
        for path in compiled:
            name = path.relative_to(root / TRANSLATIONS)
            build_data["force_include"][str(path)] = f"hushpoll_server/i18n/translations/{name}"
        files = {
            f"{name}/{path.name}": path
            for name, folder in FOLDERS.items()
            for path in (root / folder).iterdir()
            if path.suffix in (".js", ".css")
        } | {name: root / path for name, path in SHARED.items()}
        lines = [
            f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {name}" for name, path in sorted(files.items())
        ]
        self.folder = tempfile.TemporaryDirectory()
        pinned = Path(self.folder.name) / "assets.sha256"
        pinned.write_text("\n".join(lines) + "\n", encoding="ascii")
        build_data["force_include"][str(pinned)] = "hushpoll_server/assets.sha256"
        # The server shows the documentation itself.
        for pattern in DOCS:
            for path in sorted((root / "docs").glob(pattern)):
                place = path.relative_to(root / "docs")
                build_data["force_include"][str(path)] = f"hushpoll_server/manual/docs/{place}"


if __name__ == "__main__":
    compile_catalogues(Path(__file__).parent / TRANSLATIONS)
