"""`hushpoll user`: add and manage the accounts of designers, analysts and admins."""

from __future__ import annotations

import sys

import click
from hushpoll_client.cli.output import json_option, print_json

from hushpoll_server.people import accounts, passwords, second_factor, tokens
from hushpoll_server.people.audit_log import COMMAND_LINE
from hushpoll_server.people.errors import AccountError

from .stored import opened_store


@click.group(short_help="Add and manage accounts.")
def user() -> None:
    """Work with the accounts that may sign in. Respondents have none."""


@user.command(short_help="Add an account.")
@click.argument("name")
@click.option(
    "--role",
    type=click.Choice(accounts.ROLES),
    default="designer",
    show_default=True,
    help="designer: makes surveys; analyst: reads shared reports; admin: everything.",
)
@click.option("--generate", is_flag=True, help="Do not ask: generate the password and print it once.")
@json_option
def add(name: str, role: str, generate: bool, as_json: bool) -> None:
    """Add the account NAME. Its password is asked for on a terminal; otherwise it is generated and printed once.

    \b
    Examples:
      hushpoll user add ada --role designer
      hushpoll user add karl --role analyst --generate
    """
    chosen = None
    if not (generate or as_json):
        chosen = _ask()
    with opened_store() as store:
        password: str | None = accounts.add_user(store, name, role, chosen)
    if chosen:
        password = None
    _print_account("Added", name, role=role, password=password, as_json=as_json)


@user.command(short_help="Set a new password; ends the account's sessions.")
@click.argument("name")
@click.option("--generate", is_flag=True, help="Do not ask: generate the password and print it once.")
@json_option
def password(name: str, generate: bool, as_json: bool) -> None:
    """Set a new password for the account NAME and sign it out everywhere."""
    chosen = None
    if not (generate or as_json):
        chosen = _ask()
    with opened_store() as store:
        new_password = chosen or passwords.new_password()
        accounts.set_password(store, name, new_password, actor=COMMAND_LINE)
    printed = None
    if not chosen:
        printed = new_password
    _print_account("New password for", name, password=printed, as_json=as_json)


@user.command(short_help="Change a role, lock or unlock; ends the account's sessions.")
@click.argument("name")
@click.option("--role", type=click.Choice(accounts.ROLES), help="The new role.")
@click.option(
    "--lock/--unlock", "lock", default=None, help="Keep the account from signing in, or let it again."
)
@click.option(
    "--second-factor-off", is_flag=True, help="Ask for the password only, for a user whose phone is lost."
)
@json_option
def change(name: str, role: str | None, lock: bool | None, second_factor_off: bool, as_json: bool) -> None:
    """Change the account NAME."""
    if role is None and lock is None and not second_factor_off:
        raise click.UsageError("say what to change: --role, --lock, --unlock or --second-factor-off")
    with opened_store() as store:
        if second_factor_off:
            second_factor.turn_off(store, name, actor=COMMAND_LINE)
        if role is not None or lock is not None:
            active = None
            if lock is not None:
                active = not lock
            accounts.change_account(store, name, actor=COMMAND_LINE, role=role, active=active)
        (changed,) = [account for account in accounts.all_users(store) if account.name == name]
        guarded = second_factor.accounts_with(store)
    if as_json:
        print_json(_described(changed, name in guarded))
    else:
        click.echo(f"Changed: {name}")


@user.command("list", short_help="List the accounts.")
@json_option
def list_users(as_json: bool) -> None:
    """List the accounts with their roles."""
    with opened_store() as store:
        people = accounts.all_users(store)
        guarded = second_factor.accounts_with(store)
    if as_json:
        print_json({"users": [_described(person, person.name in guarded) for person in people]})
        return
    for account in people:
        notes = []
        if account.name in guarded:
            notes.append("second factor")
        if not account.active:
            notes.append("locked")
        line = f"{account.role:8}  {account.name}"
        if notes:
            line += f"  ({', '.join(notes)})"
        click.echo(line)


def _described(user: accounts.User, guarded: bool) -> dict[str, object]:
    return {"name": user.name, "role": user.role, "active": user.active, "second_factor": guarded}


@user.group(short_help="Make, list and revoke tokens for programs.")
def token() -> None:
    """Work with tokens, by which programs act for an account within their scopes."""


@token.command("add", short_help="Make a token and print it once.")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    type=click.Choice(list(tokens.SCOPES)),
    multiple=True,
    required=True,
    help="What it may do; give it again for more.",
)
@click.option("--label", default="command line", show_default=True, help="What it is for.")
@json_option
def add_token(name: str, scopes: tuple[str, ...], label: str, as_json: bool) -> None:
    """Make a token for the account NAME and print it; it is kept only as a hash.

    \b
    Example:
      hushpoll user token add ada --scope batch --label "paper forms"
    """
    with opened_store() as store:
        new_token = tokens.make(store, name, label, scopes, actor=COMMAND_LINE)
    if as_json:
        print_json({"name": name, "label": label, "scopes": list(scopes), "token": new_token})
        return
    click.echo(f"Token of {name}, shown only now: {new_token}")


@token.command("list", short_help="List tokens.")
@click.argument("name", required=False)
@json_option
def list_tokens(name: str | None, as_json: bool) -> None:
    """List the tokens of the account NAME, or of all, with the ID by which they are revoked.

    \b
    Example:
      hushpoll user token list ada
    """
    with opened_store() as store:
        entries = tokens.of_account(store, name)
    if as_json:
        print_json({"tokens": [_described_token(entry) for entry in entries]})
        return
    for entry in entries:
        click.echo(f"{entry.id}  {entry.user_name}  {','.join(entry.scopes)}  {entry.label}")


def _described_token(token: tokens.Token) -> dict[str, object]:
    return {"id": token.id, "name": token.user_name, "label": token.label, "scopes": token.scopes}


@token.command("revoke", short_help="End a token.")
@click.argument("token_id", metavar="ID")
@json_option
def revoke_token(token_id: str, as_json: bool) -> None:
    """End the token ID, which `hushpoll user token list` shows, at once.

    \b
    Example:
      hushpoll user token revoke 3f2a9c01b7de
    """
    with opened_store() as store:
        gone = tokens.revoke(store, token_id, actor=COMMAND_LINE)
    if as_json:
        print_json({**_described_token(gone), "revoked": True})
    else:
        click.echo(f"Revoked: {gone.label} of {gone.user_name}")


def _ask() -> str | None:
    """Ask for a password, twice; an empty answer, or no terminal to ask on, means: generate one."""
    if not sys.stdin.isatty():
        return None
    prompt = "Password (empty: generate one)"
    password: str = click.prompt(
        prompt, default="", hide_input=True, show_default=False, confirmation_prompt=True
    )
    if not password:
        return None
    try:
        passwords.check_password(password)
    except AccountError as error:
        raise click.UsageError(str(error)) from None
    return password


def _print_account(
    event: str, name: str, *, role: str | None = None, password: str | None, as_json: bool
) -> None:
    document: dict[str, str | None] = {"name": name}
    line = f"{event}: {name}"
    if role:
        document["role"] = role
        line += f" ({role})"
    if as_json:
        print_json({**document, "password": password})
        return
    click.echo(line)
    if password is not None:
        click.echo(f"Password, shown only now: {password}")
