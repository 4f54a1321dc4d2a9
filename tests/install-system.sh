#!/bin/sh
# Install what the tests need beside Python, through apt: Chromium for the browser tests (libatomic1 for the program that
# drives it), PostgreSQL for the second database, curl, and the programs named as arguments.
# Says plainly what it cannot install; the tests that need it then fail with the same words instead of being passed over.
set -u
missing=""
command -v chromium >/dev/null 2>&1 || missing="$missing chromium"
ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || command -v initdb >/dev/null 2>&1 || missing="$missing postgresql"
[ -n "$(find /lib /usr/lib /usr/lib64 -name 'libatomic.so.1' 2>/dev/null | head -n 1)" ] || missing="$missing libatomic1"
# An argument is a program, or program:package where Debian's package has another name.
for program in curl "$@"; do command -v "${program%%:*}" >/dev/null 2>&1 || missing="$missing ${program##*:}"; done
# The same browser without its window, which takes a third of the time; where there is none, the tests take the other.
lighter=""
command -v chromium-headless-shell >/dev/null 2>&1 || lighter="chromium-headless-shell"
[ -n "$missing$lighter" ] || exit 0

if ! command -v apt-get >/dev/null 2>&1; then
  [ -z "$missing" ] || echo "The tests need:$missing. This machine has no apt-get; install them by hand." >&2
  exit 0
fi
if [ "$(id -u)" = 0 ]; then run=""; elif sudo -n true 2>/dev/null; then run="sudo -n"; else
  [ -z "$missing" ] || echo "The tests need:$missing. Not root and no password-less sudo: run  apt-get install$missing  as root." >&2
  exit 0
fi
echo "Installing for the tests:$missing $lighter"
export DEBIAN_FRONTEND=noninteractive
$run apt-get update -qq
# shellcheck disable=SC2086
[ -z "$missing" ] || $run apt-get install -y -qq --no-install-recommends $missing fonts-dejavu-core >/dev/null \
  || echo "apt could not install:$missing. The tests that need them will fail." >&2
[ -z "$lighter" ] || $run apt-get install -y -qq --no-install-recommends "$lighter" >/dev/null 2>&1 \
  || echo "apt has no $lighter: the tests in the browser take longer."
