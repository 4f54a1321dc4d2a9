"""What cannot be done with an account."""

from __future__ import annotations

from hushpoll_client import HushpollError


class AccountError(HushpollError):
    """A request about an account that cannot be honoured; `field` names the part at fault."""

    def __init__(self, problem: str, remedy: str = "", field: str = "name") -> None:
        super().__init__(problem, remedy)
        self.field = field
