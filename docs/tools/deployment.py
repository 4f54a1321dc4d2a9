"""Write the files of deploy/ into the blocks of docs/operators.md that have their names.

python docs/tools/deployment.py
"""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "operators.md"
DEPLOY = ROOT / "deploy"
_BLOCK = re.compile(r'^(```\w+ title="([^"]+)"\n)(.*?)(^```$)', re.MULTILINE | re.DOTALL)


def page_with_files(page: str) -> str:
    """Return the page with each titled block holding the file of that name."""

    def filled(block: re.Match[str]) -> str:
        return block[1] + (DEPLOY / block[2]).read_text("utf-8") + block[4]

    return _BLOCK.sub(filled, page)


def main() -> None:
    """Write the page."""
    PAGE.write_text(page_with_files(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
