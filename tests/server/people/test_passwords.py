"""The cost of a password's hash, which other tests of the server lower."""

from __future__ import annotations

import pytest
from hushpoll_server.people import accounts
from hushpoll_server.people.passwords import needs_rehash
from hushpoll_server.people.sign_in import sign_in
from hushpoll_server.store.surveys import Store
from hushpoll_server.store.workspace_schema import users
from sqlalchemy import select

from tests.server.accounts_kit import PASSWORD


@pytest.fixture(scope="module", autouse=True)
def cheap_passwords() -> None:
    """Keep the server's own cost here."""


@pytest.mark.parametrize("backend", ["sqlite"])
def test_passwords_are_stored_as_argon2id_of_the_recommended_cost(store: Store) -> None:
    accounts.add_user(store, "owner", "designer", PASSWORD, actor="test")
    with store.read() as tx:
        password_hash = tx.execute(select(users.c.password_hash)).scalar_one()
    assert password_hash.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert not needs_rehash(password_hash)
    assert sign_in(store, "owner", PASSWORD)
    assert sign_in(store, "owner", "wrong password") is None
