"""The store of the running application."""

from __future__ import annotations

from flask import Flask, current_app

from .store.surveys import Store

_EXTENSION = "hushpoll"


def init_app(app: Flask, store: Store) -> None:
    """Attach a store to an application."""
    app.extensions[_EXTENSION] = store


def get_store() -> Store:
    """Return the store of the running application."""
    store = current_app.extensions[_EXTENSION]
    assert isinstance(store, Store)
    return store
