"""Write the SHA-256 of the page's sentences into explain.js, so that intact scripts show no other ones.

Run it after a change of a sentence: `python -m hushpoll_server.respond.pin_sentences`. A test fails until then.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from flask import Flask
from flask_babel import force_locale

from . import languages

SCRIPT = Path(__file__).parent / "static" / "explain.js"
_TABLE = re.compile(r"(const PINNED = \{\n).*?(\};\n)", re.DOTALL)


def pinned(script: str) -> str:
    """Return the script with the hashes of today's sentences."""
    app = Flask("hushpoll_server")
    languages.init_app(app)
    lines = []
    with app.test_request_context("/"):
        for language in sorted(languages.LANGUAGES):
            with force_locale(language):
                digest = hashlib.sha256(languages.words_of("page").encode()).hexdigest()
                lines.append(f'  {language}: "{digest}",\n')
    return _TABLE.sub(lambda match: match[1] + "".join(lines) + match[2], script, count=1)


if __name__ == "__main__":
    SCRIPT.write_text(pinned(SCRIPT.read_text(encoding="utf-8")), encoding="utf-8")
