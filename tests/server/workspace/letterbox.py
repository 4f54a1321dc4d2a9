"""A mail server on this machine that keeps every letter."""

from __future__ import annotations

from email import message_from_bytes
from email.message import Message
from email.policy import default
from typing import Any


class Letterbox:
    """Accepts every letter except those to nobody@."""

    def __init__(self) -> None:
        self.letters: list[Message] = []

    async def handle_RCPT(self, server: Any, session: Any, envelope: Any, address: str, options: Any) -> str:
        if address.startswith("nobody@"):
            return "550 there is no such person"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Any, envelope: Any) -> str:
        self.letters.append(message_from_bytes(envelope.content, policy=default))
        return "250 OK"
