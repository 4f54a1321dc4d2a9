"""The files of other releases: while nodes are upgraded one by one, and after it, open pages ask for theirs.

Each node puts the files of its release into the database, under a keyed hash; all nodes serve the last few releases. A
page names the SHA-256 of every module, so that a file of another release in its place would stop it.
"""

from __future__ import annotations

import base64
import gzip
import hmac
import json
import threading
from weakref import WeakKeyDictionary

from cachetools import FIFOCache
from sqlalchemy import delete, func, insert, select
from sqlalchemy.exc import IntegrityError

from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import releases

from .assets import explanation
from .languages import LANGUAGES
from .manifest import Asset, asset_paths, read_asset
from .manifest import release as this_release

__all__ = ["asset_of", "keep_release"]

MOST_RELEASES = 4
"""How many releases' files the database has: that of today, and those that pages may still be open from."""
_DIGITS = 16
_Files = dict[str, Asset]
_read: WeakKeyDictionary[Store, FIFOCache[str, _Files]] = WeakKeyDictionary()
_lock = threading.Lock()


def keep_release(store: Store) -> None:
    """Put the files of this release into the database, and remove those of releases long ago."""
    name = this_release()
    with store.read() as tx:
        newest = tx.execute(select(func.max(releases.c.number))).scalar() or 0
        if tx.execute(select(releases.c.number).where(releases.c.name == name)).scalar() == newest > 0:
            return
    content = _packed({path: read_asset(path) for path in sorted(asset_paths())} | _explanations())
    row = {"name": name, "number": newest + 1, "content": content, "mac": _mac(store, name, content)}
    try:
        with store.write() as tx:
            # One that is installed again is the newest again.
            tx.execute(delete(releases).where(releases.c.name == name))
            tx.execute(insert(releases).values(**row))
            tx.execute(delete(releases).where(releases.c.number <= newest + 1 - MOST_RELEASES))
    except IntegrityError:
        pass  # another process of the same release was faster


def asset_of(store: Store, release: str, path: str) -> Asset | None:
    """Return a file of another release; None where it is not known any more."""
    if len(release) != _DIGITS:
        return None
    with _lock:
        files_of = _read.setdefault(store, FIFOCache(MOST_RELEASES))
        if release not in files_of:
            files = _read_release(store, release)
            if not files:
                return None  # not remembered: strangers may make up any number of names
            files_of[release] = files
        return files_of[release].get(path)


def _read_release(store: Store, release: str) -> _Files:
    with store.read() as tx:
        row = tx.execute(select(releases).where(releases.c.name == release)).one_or_none()
    if row is None:
        return {}
    content = bytes(row.content)
    # Whoever can write to the database must not be able to have scripts served.
    if not hmac.compare_digest(_mac(store, release, content), row.mac):
        return {}
    files = json.loads(gzip.decompress(content))
    return {path: Asset(base64.b64decode(body), kind) for path, (kind, body) in files.items()}


def _explanations() -> _Files:
    return {f"words/{language}.json": explanation(language) for language in sorted(LANGUAGES)}


def _packed(files: _Files) -> bytes:
    texts = {path: (file.content_type, base64.b64encode(file.body).decode()) for path, file in files.items()}
    return gzip.compress(json.dumps(texts).encode(), 9, mtime=0)


def _mac(store: Store, release: str, content: bytes) -> str:
    return hmac.digest(store.secret, b"release " + release.encode() + b" " + content, "sha256").hex()
