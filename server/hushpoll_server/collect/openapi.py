"""The API, described for machines (OpenAPI 3.1)."""

from __future__ import annotations

from typing import Any

import hushpoll_client
from hushpoll_client.channel.wire import SHAPES
from hushpoll_client.limits import MAX_QUESTIONS
from hushpoll_client.survey.group import MAX_GROUPS

from .intake import LARGEST_BATCH, LARGEST_REPORT, MOST_IN_BATCH

_STATUS = {
    "200": "The same id again: stored before, nothing stored twice.",
    "201": "Stored, and on the disk.",
    "403": "Invitation missing, unknown or spent.",
    "404": "No survey with this hash.",
    "409": "This id was sent before with other content.",
    "410": "The survey is closed.",
    "413": "Body too large.",
    "415": "Wrong Content-Type.",
    "422": "Invalid; `item` says which part is wrong.",
    "429": "Too many reports; see Retry-After.",
    "503": "Could not be stored right now; see Retry-After and send the same report again.",
}


def _problem(description: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": description, "content": {"application/problem+json": {"schema": schema}}}


def _answers(success: dict[str, Any]) -> dict[str, Any]:
    done = {"content": {"application/json": {"schema": success}}}
    return {
        status: {"description": text, **done} if status < "300" else _problem(text)
        for status, text in _STATUS.items()
    }


_ACCOUNT: list[dict[str, list[str]]] = [{"token": []}, {"session": []}]
_WHO = "Needs an account's session or a token with the scope."


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"required": True, "content": {"application/json": {"schema": schema}}}


def _made(description: str, also: tuple[str, ...]) -> dict[str, Any]:
    done = {"content": {"application/json": {"schema": {"type": "object"}}}}
    refused = {status: _STATUS[status] for status in ("404", "413", "415", "422")}
    refused |= {"401": _WHO, "403": "The account may not do this."}
    return {
        **{status: {"description": description, **done} for status in ("201", *also)},
        **{status: _problem(text) for status, text in refused.items()},
        "503": _problem("The database does not answer; see Retry-After."),
    }


_HASH = {
    "name": "hash",
    "in": "path",
    "required": True,
    "description": "SHA-256 of the survey's canonical bytes.",
    "schema": {"type": "string", "pattern": "^[0-9a-f]{64}$"},
}

_CODE = {"name": "code", "in": "path", "required": True, "schema": {"type": "string"}}

_REPORT = {
    "type": "object",
    "additionalProperties": False,
    "required": ["id", "reports"],
    "properties": {
        "id": {
            "type": "string",
            "pattern": "^[0-9a-f]{32}$",
            "description": "128 random bits that the client made; the same for every resend.",
        },
        "reports": {
            "type": "array",
            "items": {"anyOf": [shape.schema for shape in SHAPES]},
            "minItems": 1,
            "maxItems": MAX_QUESTIONS,
            "description": "One randomized report per question, in the survey's order.",
        },
        "group": {
            "type": "integer",
            "minimum": 0,
            "maximum": MAX_GROUPS - 1,
            "description": "The place of the group in the survey's list; only where the survey has groups.",
        },
        "invitation": {
            "type": "string",
            "minLength": 1,
            "maxLength": 64,
            "description": "One-time code, only where the survey asks for one.",
        },
    },
}

_PROBLEM = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "item": {"type": "string", "description": "The part of the body that is wrong."},
        "line": {"type": "integer", "description": "The line of a batch that is wrong, from 1."},
    },
}

_PUBLISHED = "Published; 200 where it was before. `warning` says why a survey protects little, where it does."


def openapi() -> dict[str, Any]:
    """Describe every route that outsiders may call."""
    report = {"$ref": "#/components/schemas/Report"}
    stored = {
        "type": "object",
        "properties": {"stored": {"type": "boolean"}, "new": {"type": "boolean"}},
    }
    counted = {
        "type": "object",
        "properties": {"received": {"type": "integer"}, "new": {"type": "integer"}},
    }
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "hushpoll",
            "version": hushpoll_client.__version__,
            "description": "Surveys with local differential privacy. Reports are randomized before they are sent.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": {
            "/api/surveys/{hash}": {
                "parameters": [_HASH],
                "get": {
                    "operationId": "getSurvey",
                    "summary": "The published survey, canonical bytes",
                    "responses": {
                        "200": {
                            "description": "The bytes whose SHA-256 is the hash; they never change.",
                            "content": {"application/json": {"schema": {"type": "object"}}},
                        },
                        "304": {"description": "Not changed."},
                        "404": _problem(_STATUS["404"]),
                        "503": _problem("The database does not answer; see Retry-After."),
                    },
                },
            },
            "/api/surveys/{hash}/reports": {
                "parameters": [_HASH],
                "post": {
                    "operationId": "submitReport",
                    "summary": f"Send one randomized report (at most {LARGEST_REPORT >> 10} KiB)",
                    "requestBody": {"required": True, "content": {"application/json": {"schema": report}}},
                    "responses": _answers(stored),
                },
            },
            "/api/surveys/{hash}/reports/batch": {
                "parameters": [_HASH],
                "post": {
                    "operationId": "submitReports",
                    "summary": f"Send up to {MOST_IN_BATCH:,} reports (at most {LARGEST_BATCH >> 20} MiB), one JSON"
                    " object per line, all or none (scope batch)",
                    "requestBody": {
                        "required": True,
                        "content": {"application/x-ndjson": {"schema": report}},
                    },
                    "security": _ACCOUNT,
                    "responses": {**_answers(counted), "401": _problem(_WHO)},
                },
            },
            "/api/surveys": {
                "post": {
                    "operationId": "publishSurvey",
                    "summary": "Publish a survey document (scope publish)",
                    "security": _ACCOUNT,
                    "requestBody": _json({"type": "object"}),
                    "responses": _made(
                        "Published; 200 where it was before. `warning` says where it protects little.",
                        ("200",),
                    ),
                },
            },
            "/api/surveys/{hash}/invitations": {
                "parameters": [_HASH],
                "post": {
                    "operationId": "invite",
                    "summary": "Make invitations (scope invite)",
                    "security": _ACCOUNT,
                    "requestBody": _json(
                        {
                            "type": "object",
                            "properties": {"number": {"type": "integer"}, "group": {"type": "string"}},
                        }
                    ),
                    "responses": _made("The codes and links, which are kept nowhere.", ()),
                },
            },
            "/api/surveys/{hash}/invitations/{code}": {
                "parameters": [_HASH, _CODE],
                "get": {
                    "operationId": "formerInvitationCheck",
                    "summary": "Gone: an address is no place for a code. Use POST .../invitations/check",
                    "deprecated": True,
                    "responses": {"410": _problem("Always; it says what to use.")},
                },
            },
            "/api/surveys/{hash}/invitations/check": {
                "parameters": [_HASH],
                "post": {
                    "operationId": "checkInvitation",
                    "summary": "Whether an invitation may be used; nothing is stored or spent",
                    "requestBody": _json(
                        {
                            "type": "object",
                            "required": ["invitation"],
                            "properties": {
                                "invitation": {"type": "string", "maxLength": 64},
                                "group": {
                                    "type": "integer",
                                    "description": "Its group, where the survey has groups.",
                                },
                            },
                        }
                    ),
                    "responses": {
                        "204": {
                            "description": "It may be used; also while a report with it waits to be sealed."
                        },
                        "403": _problem("Unknown or spent."),
                        "404": _problem("No survey with this hash, or one that asks for no invitation."),
                        "413": _problem("Larger than 1 KiB."),
                        "415": _problem("Not application/json."),
                        "422": _problem("Not such an object, or the group is missing or wrong."),
                        "429": _problem("Too many codes from one address; see Retry-After."),
                        "503": _problem("The database does not answer; see Retry-After."),
                    },
                },
            },
            "/api/surveys/{hash}/results": {
                "parameters": [_HASH],
                "get": {
                    "operationId": "getResults",
                    "summary": "Estimates, for accounts with access or where the owner made them public",
                    "responses": {
                        "200": {
                            "description": "Estimates with intervals, from sealed reports only.",
                            "content": {"application/json": {"schema": {"type": "object"}}},
                        },
                        "403": _problem("Not public, and no access."),
                        "404": _problem(_STATUS["404"]),
                        "503": _problem("The database does not answer; see Retry-After."),
                    },
                },
            },
            "/api/openapi.json": {
                "get": {
                    "operationId": "getDescription",
                    "summary": "This description",
                    "responses": {
                        "200": {
                            "description": "An OpenAPI document.",
                            "content": {"application/json": {"schema": {"type": "object"}}},
                        }
                    },
                }
            },
            "/healthz": _probe("health", "Whether the server can store a report"),
            "/readyz": _probe("ready", "The same, under the name that orchestrators use"),
            "/livez": _probe("live", "Whether the server runs, whatever its database does"),
        },
        "components": {
            "schemas": {"Report": _REPORT, "Problem": _PROBLEM},
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "hushpoll"},
            },
        },
    }


def _probe(name: str, summary: str) -> dict[str, Any]:
    responses = {
        "200": {
            "description": "Yes.",
            "content": {"application/json": {"schema": {"type": "object"}}},
        }
    }
    if name != "live":
        responses["503"] = _problem("No; see Retry-After.")
    return {"get": {"operationId": name, "summary": summary, "responses": responses}}
