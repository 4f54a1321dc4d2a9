"""When the wheel is built: pin the SHA-256 of every file that respondents' browsers run, and add the documentation."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

FOLDERS = {
    "hushpoll_client/js": "client/hushpoll_client/js",
    "hushpoll_server/respond/static": "server/hushpoll_server/respond/static",
}
DOCS = ("*.md", "images/*")
SHARED = {"hushpoll_server/static/palette.css": "server/hushpoll_server/static/palette.css"}


class PinHook(BuildHookInterface):  # type: ignore[misc]
    """Adds `hushpoll_server/assets.sha256`, in the form of `sha256sum`, to a wheel; an editable install has none."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the list and name it among the files of the wheel."""
        if version == "editable":
            return
        root = Path(self.root)
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
