"""deploy/Containerfile and deploy/compose.yaml: non-root, read-only, two nodes with one key behind nginx.

`python -m tests.prove container` carries the Containerfile out.
"""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest
import yaml
from hushpoll_server.config import NAMES

from tests.docs.blocks import ROOT
from tests.prove.container import FILE, instructions
from tests.prove.proxy import DOCUMENTED

NODES = ("one", "two")


@pytest.fixture
def composition() -> dict[str, Any]:
    """The composition, with merged keys."""
    loaded = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text("utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def test_the_image_runs_as_its_own_user() -> None:
    steps = instructions(FILE.read_text("utf-8"))
    named = dict(steps)
    assert [name for name, _ in steps].count("FROM") == 1
    assert "--uid 10001" in next(argument for name, argument in steps if "adduser --system" in argument)
    assert named["USER"] == "hushpoll"
    assert json.loads(named["ENTRYPOINT"]) + json.loads(named["CMD"]) == [
        "/opt/hushpoll/bin/hushpoll",
        "serve",
    ]
    assert "/readyz" in named["HEALTHCHECK"]
    settings = {argument.partition("=")[0] for name, argument in steps if name == "ENV"}
    assert settings - {"PYTHONDONTWRITEBYTECODE"} <= {name.upper() for name in NAMES}
    # The user is set after the last step that needs root.
    order = [name for name, _ in steps]
    assert order.index("USER") > max(
        position for position, name in enumerate(order) if name in ("RUN", "COPY")
    )


def test_every_container_is_locked(composition: dict[str, Any]) -> None:
    assert set(composition["services"]) == {"database", "nginx", *NODES}
    for name, service in composition["services"].items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["ulimits"] == {"core": 0}, name
        assert service["user"] not in ("", "root", "0"), name
        assert "healthcheck" in service or service["image"] == "hushpoll", name
        assert "privileged" not in service


def test_only_nginx_can_be_reached_and_the_database_has_no_way_out(composition: dict[str, Any]) -> None:
    services = composition["services"]
    assert [name for name in services if "ports" in services[name]] == ["nginx"]
    assert services["database"]["networks"] == ["inside"]
    assert composition["networks"]["inside"] == {"internal": True}


def test_both_nodes_have_the_same_key_and_settings(composition: dict[str, Any]) -> None:
    first, two = (dict(composition["services"][name]) for name in NODES)
    assert first.pop("depends_on") == {"database": {"condition": "service_healthy"}}
    # Not at once: the first makes the tables and the key.
    assert two.pop("depends_on") == {"one": {"condition": "service_healthy"}}
    assert first == two
    assert first["volumes"] == ["key:/var/lib/hushpoll-key"]
    assert set(first["environment"]) <= {name.upper() for name in NAMES}
    assert "key" in composition["volumes"]


def test_nginx_accepts_the_documented_file(composition: dict[str, Any]) -> None:
    """Its command makes the configuration for two nodes and another name."""
    *shell, script = composition["services"]["nginx"]["command"]
    assert shell == ["sh", "-ec"]
    edit = script.replace("$$", "$").partition(" > ")[0].replace("/etc/hushpoll/nginx.conf", str(DOCUMENTED))
    done = subprocess.run(
        [*shell, edit],
        env={"PUBLIC_HOST": "polls.example.net", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "server one:8000 max_fails=0; server two:8000 max_fails=0;" in done.stdout
    assert done.stdout.count("server_name polls.example.net;") == 2
    assert "survey.example.org" not in done.stdout
    assert len(re.findall(r"ssl_certificate(?:_key)?\s+/etc/certificates/\w+\.pem;", done.stdout)) == 2
