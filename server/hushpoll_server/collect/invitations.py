"""Invitations: one-time codes, kept only as hashes, spent in the transaction that stores the report."""

from __future__ import annotations

import hashlib
import secrets

from hushpoll_client import HushpollError
from sqlalchemy import func, insert, select

from hushpoll_server.store.schema import invitations
from hushpoll_server.store.surveys import Store, unknown_survey

# No letter that is taken for a digit when read aloud or typed; 20 of 32 signs are 100 bits.
_SIGNS = "0123456789abcdefghjkmnpqrstvwxyz"
CODE_LENGTH = 20
MOST_AT_ONCE = 100_000


def digest(survey_hash: str, code: str) -> bytes:
    """Give what is kept of a code. Its 100 random bits need no slow hash."""
    return hashlib.sha256(b"invitation:" + bytes.fromhex(survey_hash) + code.encode()).digest()


def invite(store: Store, survey_hash: str, n: int) -> list[str]:
    """Make `n` fresh codes; this list is the only place where they stand."""
    known = store.published(survey_hash)
    if known is None:
        raise unknown_survey(survey_hash)
    if not known.survey.settings.invitation:
        raise HushpollError(
            "this survey asks for no invitation", 'publish a copy with "settings": {"invitation": true}'
        )
    if not 1 <= n <= MOST_AT_ONCE:
        raise HushpollError(f"cannot make {n} invitations", f"ask for 1 to {MOST_AT_ONCE} at once")
    codes = ["".join(secrets.choice(_SIGNS) for _ in range(CODE_LENGTH)) for _ in range(n)]
    # In the order of the hashes: the table must not keep the order of the list that was handed out.
    digests = sorted(digest(survey_hash, code) for code in codes)
    with store.write() as tx:
        tx.execute(insert(invitations), [{"survey": known.number, "digest": item} for item in digests])
    return codes


def counts(store: Store, survey_hash: str) -> tuple[int, int]:
    """Count how many invitations were made, and how many of them are spent."""
    known = store.published(survey_hash)
    if known is None:
        raise unknown_survey(survey_hash)
    query = select(invitations.c.spent, func.count()).where(invitations.c.survey == known.number)
    with store.read() as tx:
        found = {bool(spent): int(n) for spent, n in tx.execute(query.group_by(invitations.c.spent))}
    return sum(found.values()), found.get(True, 0)
