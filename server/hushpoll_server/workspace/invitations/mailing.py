"""Invitations by e-mail, with reminders.

Who got which code is stored until the survey closes, in one encrypted box per survey. Its key is derived from the
server's secret, which is not in the database, so that a copy of the database reveals nothing. The whole box is written
again at every change, in random order, so that no row has a history. Answers are not in it: codes and reports are
separated when a report is sealed.
"""

from __future__ import annotations

import hmac
import json
import logging
import os
import threading
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from hushpoll_client import HushpollError
from hushpoll_client.messages import Message, msg
from sqlalchemy import Connection, insert, select, update

from hushpoll_server.collect import invitations
from hushpoll_server.collect.spent_invitations import unspent
from hushpoll_server.mail import Letter, MailError, check_address, send
from hushpoll_server.people.audit_log import Detail, note, now
from hushpoll_server.store.surveys import Store, unknown_survey
from hushpoll_server.store.workspace_schema import mailings

MOST_ADDRESSES = 5_000
_BATCH = 20
_BUSY_SECONDS = 120
_NONCE_BYTES = 12
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class Person:
    """A person who is invited; `last` is the last round in which the mail server accepted a letter."""

    to: str
    code: str
    group: int | None = None
    last: int = 0
    refused: bool = False


@dataclass(frozen=True)
class Mailing:
    """The people invited to one survey, and the present round of letters: 1, then one for each reminder."""

    people: tuple[Person, ...] = ()
    round: int = 1
    busy: bool = False
    problem: str = ""
    remedy: str = ""
    values: dict[str, str] = field(default_factory=dict)
    """The values in the problem's sentence."""

    @property
    def failed(self) -> MailError | None:
        """The error that stopped the last e-mails, with messages that can be translated."""
        if not self.problem:
            return None
        if not self.values:
            return MailError(self.problem, self.remedy)
        return MailError(Message(self.problem, self.values), self.remedy)

    @property
    def reached(self) -> int:
        """The number of people who got a letter."""
        return sum(person.last > 0 for person in self.people)

    @property
    def refused(self) -> int:
        """The number of addresses that the mail server refused."""
        return sum(person.refused for person in self.people)


def read_addresses(text: str) -> list[str]:
    """Return the addresses in a text, separated by lines or commas, each once; MailError for the first invalid one."""
    typed = [
        address
        for line in text.splitlines()
        for address in line.replace(";", ",").split(",")
        if address.strip()
    ]
    if len(typed) > MOST_ADDRESSES:
        raise MailError(
            msg("these are {count:,} addresses", count=len(typed)),
            msg("send to at most {most:,}", most=MOST_ADDRESSES),
        )
    addresses: dict[str, str] = {}
    for address in map(check_address, typed):
        addresses.setdefault(address.lower(), address)
    return list(addresses.values())


def read(store: Store, survey_hash: str) -> Mailing:
    """Return a survey's mailing; an empty one if nothing was sent."""
    with store.read() as tx:
        return _load(tx, store, survey_hash)


def add(store: Store, survey_hash: str, addresses: Iterable[str], group: int | None = None) -> int:
    """Make a code for every address that has none; return how many are new."""
    known_addresses = {person.to.lower() for person in read(store, survey_hash).people}
    new_addresses = [address for address in addresses if address.lower() not in known_addresses]
    if len(known_addresses) + len(new_addresses) > MOST_ADDRESSES:
        raise MailError(
            "there would be too many addresses", msg("send to at most {most:,}", most=MOST_ADDRESSES)
        )
    if not new_addresses:
        return 0
    codes = invitations.invite(store, survey_hash, len(new_addresses), group)
    people = [Person(to, code, group) for to, code in zip(new_addresses, codes, strict=True)]
    _update(store, survey_hash, lambda mailing: replace(mailing, people=(*mailing.people, *people)))
    return len(people)


def start(
    store: Store, survey_hash: str, write: Callable[[Person], Letter], remind: bool, actor: str
) -> threading.Thread:
    """Send letters in the background: first letters, or reminders to people whose code is unused."""
    with store.write() as tx:
        mine = (mailings.c.hash == survey_hash) & (mailings.c.busy_until < now())
        if not tx.execute(update(mailings).where(mine).values(busy_until=now() + _BUSY_SECONDS)).rowcount:
            raise MailError("letters of this survey are being sent already", "wait until they are")
        mailing = _load(tx, store, survey_hash)
        if remind and not _due(tx, store, survey_hash, mailing):
            mailing = replace(mailing, round=mailing.round + 1)
        _store_mailing(tx, store, survey_hash, replace(mailing, problem="", remedy="", values={}))
        due = _due(tx, store, survey_hash, mailing)
        note(
            tx,
            actor,
            "reminders sent" if remind else "invitations sent",
            survey_hash,
            Detail("letters", count=len(due)),
        )
    thread = threading.Thread(target=_send_all, args=(store, survey_hash, due, write), daemon=True)
    thread.start()
    return thread


def _due(tx: Connection, store: Store, survey_hash: str, mailing: Mailing) -> list[Person]:
    """Return the people who get an e-mail in this round: in a reminder only those whose code is unused."""
    waiting = [person for person in mailing.people if person.last < mailing.round and not person.refused]
    published = store.published(survey_hash)
    assert published is not None
    digests = {
        recipient.code: invitations.digest(survey_hash, recipient.code, recipient.group)
        for recipient in waiting
    }
    unused = unspent(tx, store.waiting, published.number, digests.values())
    return [recipient for recipient in waiting if digests[recipient.code] in unused]


def _send_all(store: Store, survey_hash: str, due: list[Person], write: Callable[[Person], Letter]) -> None:
    failed: dict[str, Any] = {}
    # In random order, which does not show that of the list.
    waiting = sorted(due, key=lambda _: os.urandom(8))
    try:
        for start in range(0, len(waiting), _BATCH):
            letters = {write(person): person for person in waiting[start : start + _BATCH]}
            _send_batch(store, survey_hash, letters)
    except HushpollError as error:
        failed = {"problem": error.problem, "remedy": str(error.remedy), "values": {}}
        if isinstance(error.problem, Message):
            failed["problem"] = error.problem.template
            failed["values"] = {name: str(value) for name, value in error.problem.values.items()}
        _LOG.error("letters were not sent: %s", error.problem)
    finally:
        _update(store, survey_hash, lambda mailing: replace(mailing, **failed))


def _send_batch(store: Store, survey_hash: str, letters: dict[Letter, Person]) -> None:
    """Send some e-mails, and record who got one even if sending breaks off, so that no one gets it twice."""
    results: dict[str, bool] = {}
    try:
        for letter, is_taken in send(store.config, letters):
            results[letters[letter].code] = is_taken
    finally:
        _update(store, survey_hash, partial(_with_results, results), _BUSY_SECONDS)


def _with_results(results: dict[str, bool], mailing: Mailing) -> Mailing:
    def marked(person: Person) -> Person:
        if person.code not in results:
            return person
        if results[person.code]:
            return replace(person, last=mailing.round)
        return replace(person, refused=True)

    return replace(mailing, people=tuple(map(marked, mailing.people)))


def _update(store: Store, survey_hash: str, change: Callable[[Mailing], Mailing], busy: int = 0) -> None:
    with store.write() as tx:
        # One after the other, also on PostgreSQL.
        tx.execute(select(mailings.c.hash).where(mailings.c.hash == survey_hash).with_for_update())
        _store_mailing(
            tx, store, survey_hash, change(_load(tx, store, survey_hash)), now() + busy if busy else 0
        )


def _store_mailing(
    tx: Connection, store: Store, survey_hash: str, mailing: Mailing, busy_until: int | None = None
) -> None:
    shuffled = sorted(mailing.people, key=lambda _: os.urandom(8))
    text = json.dumps({**asdict(mailing), "people": [asdict(person) for person in shuffled]}).encode()
    nonce = os.urandom(_NONCE_BYTES)
    # Padded, so that the length does not reveal that of the addresses.
    box = nonce + _cipher(store, survey_hash).encrypt(nonce, text.ljust(-(-len(text) // 4096) * 4096), None)
    values: dict[str, object] = {"box": box}
    if busy_until is not None:
        values["busy_until"] = busy_until
    if not tx.execute(update(mailings).where(mailings.c.hash == survey_hash).values(**values)).rowcount:
        tx.execute(insert(mailings).values(hash=survey_hash, **values))


def _load(tx: Connection, store: Store, survey_hash: str) -> Mailing:
    if store.published(survey_hash) is None:
        raise unknown_survey(survey_hash)
    row = tx.execute(select(mailings).where(mailings.c.hash == survey_hash)).one_or_none()
    if row is None:
        return Mailing()
    box = bytes(row.box)
    try:
        text = _cipher(store, survey_hash).decrypt(box[:_NONCE_BYTES], box[_NONCE_BYTES:], None)
    except InvalidTag:
        # The key is lost: no one can be reminded, and nothing else is affected.
        return Mailing()
    stored = json.loads(text)
    people = tuple(Person(**entry) for entry in stored.pop("people"))
    return Mailing(**{**stored, "people": people, "busy": row.busy_until > now()})


def _cipher(store: Store, survey_hash: str) -> AESGCM:
    return AESGCM(hmac.digest(store.secret, b"hushpoll: mailing " + survey_hash.encode(), "sha256"))
