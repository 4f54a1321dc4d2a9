"""Invitations: one-time codes, kept only as hashes, taken in the transaction that stores the report."""

from __future__ import annotations

import hashlib
import secrets

from hushpoll_client import HushpollError
from hushpoll_client.messages import msg
from hushpoll_client.survey.group import check_group
from sqlalchemy import func, insert, select

from hushpoll_server.store.schema import invitations, surveys
from hushpoll_server.store.surveys import Store, unknown_survey

from .spent_invitations import spent_bits, unsealed

# No letter that is taken for a digit when read aloud or typed; 20 of 32 signs are 100 bits.
_SIGNS = "0123456789abcdefghjkmnpqrstvwxyz"
CODE_LENGTH = 20
MOST_AT_ONCE = 100_000


def digest(survey_hash: str, code: str, group: int | None = None) -> bytes:
    """Return what is kept of a code. Its 100 random bits need no slow hash.

    The group that it belongs to is part of it: with another group a code is unknown, and no column says whose it is.
    """
    named = code
    if group is not None:
        named = f"g{group}.{code}"
    return hashlib.sha256(b"invitation:" + bytes.fromhex(survey_hash) + named.encode()).digest()


def invite(store: Store, survey_hash: str, n: int, group: int | None = None) -> list[str]:
    """Make `n` fresh codes, of one group where there are groups; this list is the only place where they stand."""
    published = store.published(survey_hash)
    if published is None:
        raise unknown_survey(survey_hash)
    if not published.survey.settings.invitation:
        raise HushpollError(
            "this survey asks for no invitation", 'publish a copy with "settings": {"invitation": true}'
        )
    check_group(published.survey.groups, group)
    if not 1 <= n <= MOST_AT_ONCE:
        raise HushpollError(
            msg("cannot make {n} invitations", n=n), msg("ask for 1 to {most} at once", most=MOST_AT_ONCE)
        )
    codes = ["".join(secrets.choice(_SIGNS) for _ in range(CODE_LENGTH)) for _ in range(n)]
    # In the order of the hashes: the table must not keep the order of the list that was handed out.
    digests = sorted(digest(survey_hash, code, group) for code in codes)
    of_survey = invitations.c.survey == published.number
    with store.write() as tx:
        # Two who invite at the same time get places one after the other.
        tx.execute(select(surveys.c.number).where(surveys.c.number == published.number).with_for_update())
        first = tx.execute(select(func.count()).where(of_survey)).scalar_one()
        tx.execute(
            insert(invitations),
            [
                {"survey": published.number, "digest": item, "place": position}
                for position, item in enumerate(digests, first)
            ],
        )
    return codes


def may_be_used(store: Store, survey_hash: str, code: str, group: int | None = None) -> bool:
    """Return whether a code is known and no sealed report has spent it; looking leaves no trace.

    While its report waits a code looks unused: otherwise the person who handed it out would see who answers, and when.
    """
    published = store.published(survey_hash)
    if published is None:
        raise unknown_survey(survey_hash)
    name = digest(survey_hash, code, group)
    with store.read() as tx:
        return bool(unsealed(tx, published.number, [name]))


def counts(store: Store, survey_hash: str) -> tuple[int, int]:
    """Return how many invitations were made, and how many of them sealed reports have spent."""
    published = store.published(survey_hash)
    if published is None:
        raise unknown_survey(survey_hash)
    with store.read() as tx:
        total = tx.execute(select(func.count()).where(invitations.c.survey == published.number)).scalar_one()
        return total, int.from_bytes(spent_bits(tx, published.number)).bit_count()
