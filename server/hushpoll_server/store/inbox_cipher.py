"""Encryption of waiting reports: a copy of the database tells neither what they say nor which invitation each spent.

The keys are made from the server's secret, which is outside the database and its backups. A box holds a record and the
place of its invitation; the invitation is marked as spent when the report is sealed, together with many others. Until
then a keyed tag says that the code is taken, to those who have the key.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Iterable, Iterator, Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

_NONCE_BYTES = 12
_PLACE_BYTES = 4
_NO_PLACE = (1 << 8 * _PLACE_BYTES) - 1


class InboxCipher:
    """Locks and opens the waiting reports of one server."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret
        self._ciphers: dict[int, AESGCM] = {}

    def tag(self, survey: int, code: bytes) -> bytes:
        """Return the keyed tag stored with a waiting report in place of its code's hash: useless without the key."""
        return hmac.digest(self._secret, b"hushpoll: waiting code %d " % survey + code, "sha256")[:16]

    def lock(self, survey: int, digest: bytes, record: bytes, position: int | None = None) -> bytes:
        """Lock a record with its invitation's place, for the row that has this digest of the report's id."""
        nonce = os.urandom(_NONCE_BYTES)
        text = (_NO_PLACE if position is None else position).to_bytes(_PLACE_BYTES) + record
        return nonce + self._cipher(survey).encrypt(nonce, text, digest)

    def lock_all(self, survey: int, reports: Sequence[tuple[bytes, bytes]]) -> bytes:
        """Lock many records, each given after its digest, that spend no invitation: their boxes one after the other.

        One call for all nonces: a batch of 10,000 would otherwise ask the system as often.
        """
        encrypt, position = self._cipher(survey).encrypt, _NO_PLACE.to_bytes(_PLACE_BYTES)
        nonces = os.urandom(_NONCE_BYTES * len(reports))
        boxes = []
        for start, (digest, record) in zip(range(0, len(nonces), _NONCE_BYTES), reports, strict=True):
            nonce = nonces[start : start + _NONCE_BYTES]
            boxes += [nonce, encrypt(nonce, position + record, digest)]
        return b"".join(boxes)

    def open(self, survey: int, digest: bytes, box: bytes) -> tuple[bytes, int | None] | None:
        """Return the record and the place; None where the box was locked with another key or was altered."""
        return next(self.open_all(survey, [(digest, box)]))

    def open_all(
        self, survey: int, rows: Iterable[tuple[bytes, bytes]]
    ) -> Iterator[tuple[bytes, int | None] | None]:
        """Open many boxes of a survey, each given after its digest."""
        decrypt, no_place = self._cipher(survey).decrypt, _NO_PLACE.to_bytes(_PLACE_BYTES)
        for digest, box in rows:
            try:
                text = decrypt(box[:_NONCE_BYTES], box[_NONCE_BYTES:], digest)
            except (InvalidTag, ValueError):
                yield None
                continue
            position = text[:_PLACE_BYTES]
            yield text[_PLACE_BYTES:], None if position == no_place else int.from_bytes(position)

    def _cipher(self, survey: int) -> AESGCM:
        # One key for each survey: with random nonces of 96 bits a key is good for some 2^32 reports.
        cipher = self._ciphers.get(survey)
        if cipher is None:
            key = hmac.digest(self._secret, b"hushpoll: waiting reports %d" % survey, "sha256")
            cipher = self._ciphers[survey] = AESGCM(key)
        return cipher
