"""Tables of the designer's workspace: people, sessions, drafts, who owns and reads a survey, the audit log.

Nothing here can hold an answer. Times are whole seconds since 1970 (UTC), alike on SQLite and PostgreSQL.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    Column,
    Date,
    Float,
    ForeignKey,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    false,
    true,
)

from .schema import metadata

users = Table(
    "users",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("role", String(16), nullable=False),
    Column("password_hash", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("active", Boolean, nullable=False, server_default=true()),
    # For a link to choose a new password, where the server sends mail.
    Column("email", String(254)),
)

# A session is a row, not only a signed cookie: signing out really ends it, everywhere if asked.
sessions = Table(
    "sessions",
    metadata,
    Column("token_hash", String(64), primary_key=True),
    Column("user_name", ForeignKey("users.name"), nullable=False, index=True),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)

# Keyed hashes of the names tried: a password typed into the name field must not end up on the disk.
sign_in_failures = Table(
    "sign_in_failures",
    metadata,
    Column("name_hash", String(64), primary_key=True),
    Column("failures", Integer, nullable=False),
    Column("blocked_until", BigInteger, nullable=False),
)

# What makes a key for codes together with the server's secret: whoever has the database alone can make no code.
second_factors = Table(
    "second_factors",
    metadata,
    Column("user_name", ForeignKey("users.name"), primary_key=True),
    Column("nonce", String(32), nullable=False),
    # The half minute of the last code that was used: each is good once.
    Column("last_step", BigInteger, nullable=False),
)

recovery_codes = Table(
    "recovery_codes",
    metadata,
    Column("user_name", ForeignKey("users.name"), primary_key=True),
    Column("digest", String(64), primary_key=True),
)

# Whom an institution's provider vouches for: its address and its own name of the person lead to an account.
identities = Table(
    "identities",
    metadata,
    Column("issuer", String(255), primary_key=True),
    Column("subject", String(255), primary_key=True),
    Column("user_name", ForeignKey("users.name"), nullable=False, index=True),
)

# Public keys: whoever reads them can sign nothing. `id` is the authenticator's, in base 64 for addresses.
passkeys = Table(
    "passkeys",
    metadata,
    Column("id", String(1400), primary_key=True),
    Column("user_name", ForeignKey("users.name"), nullable=False, index=True),
    Column("public_key", LargeBinary, nullable=False),
    Column("sign_count", BigInteger, nullable=False),
    Column("label", String(64), nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

# What a passkey is asked to sign, as a hash: each is good once, on whichever node the answer arrives.
passkey_challenges = Table(
    "passkey_challenges",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("user_name", ForeignKey("users.name"), nullable=False),
    Column("purpose", String(16), nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)

# By a token a program acts for an account; `scopes` are words with a space between.
tokens = Table(
    "tokens",
    metadata,
    Column("id", String(12), primary_key=True),
    Column("digest", String(64), nullable=False, unique=True),
    Column("user_name", ForeignKey("users.name"), nullable=False, index=True),
    Column("label", String(64), nullable=False),
    Column("scopes", String(64), nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

drafts = Table(
    "drafts",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("owner", ForeignKey("users.name"), nullable=False, index=True),
    Column("title", Text, nullable=False),
    Column("document", Text, nullable=False),
    Column("revision", Integer, nullable=False),
    Column("expected_n", Integer, nullable=False),
    Column("margin", Float, nullable=False),
    # What the slider says. Questions without a mechanism of their own follow it, and those listed in `linked`.
    Column("epsilon", String(32), nullable=False),
    Column("linked", Text, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
    Column("published_hash", String(64)),
    # Margins and locks of single questions, as JSON: they belong to the plan, not to the survey.
    Column("budget", Text, nullable=False, server_default="{}"),
)

# A draft as it was before each of its last changes, as JSON: what "Undo" goes back to.
draft_versions = Table(
    "draft_versions",
    metadata,
    Column("draft", String(32), primary_key=True),
    Column("revision", Integer, primary_key=True, autoincrement=False),
    Column("state", Text, nullable=False),
)

# Accounts that work on another's draft, or read it.
draft_shares = Table(
    "draft_shares",
    metadata,
    Column("draft", String(32), primary_key=True),
    Column("user_name", ForeignKey("users.name"), primary_key=True),
    Column("may_edit", Boolean, nullable=False),
)

# Links by which anybody can read a draft, such as an ethics board: only hashes of what opens it are kept.
draft_links = Table(
    "draft_links",
    metadata,
    Column("id", String(12), primary_key=True),
    Column("draft", String(32), nullable=False, index=True),
    Column("digest", String(64), nullable=False, unique=True),
    Column("created_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
)

# Drafts (by id) and surveys (by hash) that lists leave out unless they are asked for.
archived = Table("archived", metadata, Column("subject", String(64), primary_key=True))

# What the owner of a published survey has said about keeping it: none of it is part of the survey.
keeping = Table(
    "keeping",
    metadata,
    Column("hash", String(64), primary_key=True),
    # Whether other sites may show the public results in a frame.
    Column("embeddable", Boolean, nullable=False, server_default=false()),
    # The day on which all reports are deleted, and the day on which they were.
    Column("delete_on", Date),
    Column("deleted_on", Date),
)

# To whom a survey's invitations went: addresses and codes, locked with a key that is not in the database.
mailings = Table(
    "mailings",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("box", LargeBinary, nullable=False),
    # Until when one process is sending, so that no other does.
    Column("busy_until", BigInteger, nullable=False, server_default="0"),
)

shares = Table(
    "shares",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("user_name", ForeignKey("users.name"), primary_key=True),
)

# How often the respondents' page was opened, by day: coarse on purpose, and without any address.
opens = Table(
    "opens",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("day", String(10), primary_key=True),
    Column("opened", Integer, nullable=False),
)

# Small pictures of those who ask, named by their SHA-256 in the survey's document.
logos = Table(
    "logos",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("type", String(32), nullable=False),
    Column("body", LargeBinary, nullable=False),
)

audit_log = Table(
    "audit_log",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", BigInteger, nullable=False),
    Column("actor", String(64), nullable=False),
    Column("action", String(32), nullable=False),
    Column("subject", Text, nullable=False),
    Column("detail", Text, nullable=False),
    # JSON of the values in the detail; empty where the detail is a plain text.
    Column("parameters", Text, nullable=False, server_default=""),
)

# The files of the respondents' page of the last few releases, for pages that are still open.
releases = Table(
    "releases",
    metadata,
    Column("name", String(16), primary_key=True),
    Column("number", Integer, nullable=False, unique=True),
    Column("content", LargeBinary, nullable=False),
    Column("mac", String(64), nullable=False),
)

# The fingerprint of the secret key, and what the last look at the server's health wrote.
server_state = Table(
    "server_state",
    metadata,
    Column("name", String(32), primary_key=True),
    Column("value", String(64), nullable=False),
)
