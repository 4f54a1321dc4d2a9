"""The commands of the operators' page, one after the other, on a bare Debian: to a survey answered over HTTPS.

Needs root, debootstrap and network namespaces. PROVE_DEBIAN may name a tree that debootstrap has made, to copy instead
of a download. Three programs are stood in for, because a tree has neither systemd nor a name in the DNS: `systemctl`
starts what the unit says as its user, `journalctl` shows what it wrote, and `certbot` makes a self-signed certificate.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from hushpoll_server.serve.demo import demo_survey

from tests.docs.blocks import read_blocks
from tests.serving import Postgres

from .container import PATH, ROOT, bare_debian, context, fetch_packages
from .proxy import NAME

OPERATORS = ROOT / "docs" / "operators.md"
SUITE = "bookworm"
MOST_COMMANDS = 15
LONGEST = 900
_ENTER = 'mount -t proc proc "$1/proc" && exec chroot "$1" /bin/sh -c "cd /srv/release && $2"'

SYSTEMCTL = r"""#!/usr/bin/python3
import os, shlex, subprocess, sys, time, urllib.request
if sys.argv[1:] == ["daemon-reload"]:
    sys.exit()
if sys.argv[1:] == ["restart", "nginx"]:
    sys.exit(subprocess.call(["/usr/sbin/nginx"]))
assert sys.argv[1:3] == ["enable", "--now"] and os.path.exists("/etc/systemd/system/hushpoll-backup.timer"), sys.argv
settings, folders = {}, []
for line in open("/etc/systemd/system/hushpoll.service"):
    name, found, value = line.strip().partition("=")
    if name == "Environment":
        key, _, text = value.partition("=")
        settings[key] = text
    elif found:
        settings["unit " + name] = value
unit = {name[5:]: settings.pop(name) for name in list(settings) if name.startswith("unit ")}
for base, name in (("/var/lib", "StateDirectory"), ("/run", "RuntimeDirectory")):
    folder = f"{base}/{unit[name]}"
    subprocess.check_call(["install", "-d", "-m", unit[name + "Mode"], "-o", unit["User"], "-g", unit["Group"], folder])
    settings[name.replace("Directory", "_DIRECTORY").upper()] = folder
log = open("/var/log/hushpoll.journal", "w")
command = ["runuser", "-u", unit["User"], "--", *shlex.split(unit["ExecStart"])]
process = subprocess.Popen(command, env={"PATH": os.environ["PATH"], **settings}, stdout=log, stderr=log,
                           stdin=subprocess.DEVNULL, start_new_session=True, cwd="/")
end = time.time() + 120
while True:  # as Type=notify: started means ready
    try:
        urllib.request.urlopen("http://127.0.0.1:8000/readyz", timeout=5)
        break
    except OSError:
        if process.poll() is not None or time.time() > end:
            sys.exit("it does not start")
    time.sleep(0.2)
"""
JOURNALCTL = "#!/bin/sh\nexec cat /var/log/hushpoll.journal\n"
CERTBOT = f"""#!/bin/sh
live=/etc/letsencrypt/live/{NAME}
mkdir -p "$live"
exec openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN={NAME} \\
  -addext subjectAltName=DNS:{NAME} -keyout "$live/privkey.pem" -out "$live/fullchain.pem"
"""


class Machine:
    """A tree of Debian in its own network, in which nothing else listens."""

    def __init__(self, root: Path) -> None:
        self.root = root
        # As on a machine that has started: there it is in memory.
        (root / "dev" / "shm").mkdir(exist_ok=True)
        (root / "dev" / "shm").chmod(0o1777)
        self.network = f"newcomer-{secrets.token_hex(3)}"
        subprocess.run(["ip", "netns", "add", self.network], check=True)
        subprocess.run(["ip", "netns", "exec", self.network, "ip", "link", "set", "lo", "up"], check=True)

    def stand_in(self, name: str, program: str) -> None:
        """Put a program before the machine's own of that name."""
        file = self.root / "usr" / "local" / "sbin" / name
        file.write_text(program)
        file.chmod(0o755)

    def run(self, command: str, **environment: str) -> str:
        """Run a command as root; only packages come over the network of this machine."""
        offline = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels", "DEBIAN_FRONTEND": "noninteractive"}
        inside = [] if command.startswith("apt-get ") else ["ip", "netns", "exec", self.network]
        done = subprocess.run(
            [*inside, "unshare", "--mount", "sh", "-ec", _ENTER, "sh", str(self.root), command],
            env={"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8", **offline, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LONGEST,
        )
        assert done.returncode == 0, f"{command}: {(done.stdout + done.stderr)[-2000:]}{self.journal()}"
        return done.stdout

    def journal(self) -> str:
        """Return what the server wrote last."""
        file = self.root / "var" / "log" / "hushpoll.journal"
        return f"\n{file.read_text()[-2000:]}" if file.exists() else ""

    def close(self) -> None:
        """End what runs in its network, and that."""
        listed = subprocess.run(["ip", "netns", "pids", self.network], capture_output=True, text=True)
        for pid in listed.stdout.split():
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(pid), signal.SIGKILL)
        subprocess.run(["ip", "netns", "delete", self.network], check=False)


def page_commands() -> list[str]:
    """Return the commands of the page, each on a line."""
    (block,) = (block for block in read_blocks(OPERATORS) if block.title == "install.sh")
    return block.text.splitlines()


def answered_over_https(machine: Machine) -> int:
    """Answer the survey that the first start has made by its public address; return how many reports there are."""
    with (machine.root / "etc" / "hosts").open("a") as hosts:
        hosts.write(f"127.0.0.1 {NAME}\n")
    survey = demo_survey()
    answers = {question.id: question.options[0] for question in survey.questions}
    answers["copied"] = {"answer": "No", "decoy": "No"}
    (machine.root / "srv" / "release" / "answers.json").write_text(json.dumps(answers))
    trusted = f"/etc/letsencrypt/live/{NAME}/fullchain.pem"
    link = f"https://{NAME}/s/{survey.hash}#{survey.hash}"
    sent = machine.run(f"hushpoll answer --json --answers answers.json '{link}'", SSL_CERT_FILE=trusted)
    assert json.loads(sent)["status"] == 201, sent
    listed = machine.run("runuser -u hushpoll -- hushpoll survey list --json")
    (state,) = (entry for entry in json.loads(listed)["surveys"] if entry["hash"] == survey.hash)
    return int(state["received"])


def follow(machine: Machine, tell: Callable[[str], None]) -> str:
    """Follow the page, and answer."""
    commands = page_commands()
    assert len(commands) <= MOST_COMMANDS, f"{len(commands)} commands"
    output = ""
    for number, command in enumerate(commands, 1):
        tell(f"{number} of {len(commands)}: {command[:60]}")
        output = machine.run(command)
    assert re.search(r"Account: +\w+, password \S+", output), output
    reports = answered_over_https(machine)
    assert reports == 1
    return f"{len(commands)} commands on a bare Debian, then a survey answered over HTTPS"


def prove(size: float, cluster: Postgres, tell: Callable[[str], None]) -> str:
    """Run every command of the operators' page on a bare Debian."""
    assert os.getuid() == 0, "a chroot needs root"
    with tempfile.TemporaryDirectory(prefix="prove", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        root, release = folder / "root", folder / "release"
        tell("a bare Debian")
        bare_debian(root, SUITE)
        (release / "wheels").mkdir(parents=True)
        context(release)
        fetch_packages(release, release / "wheels")
        shutil.move(release / "wheels", root / "wheels")
        shutil.copytree(ROOT / "deploy", release / "deploy")
        shutil.copytree(release, root / "srv" / "release")
        machine = Machine(root)
        try:
            for program, text in {
                "systemctl": SYSTEMCTL,
                "journalctl": JOURNALCTL,
                "certbot": CERTBOT,
            }.items():
                machine.stand_in(program, text)
            return follow(machine, tell)
        finally:
            machine.close()
