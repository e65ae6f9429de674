#!/usr/bin/env bash
# unchanged.sh COMMAND [ARG…] runs a command and fails if it changed the machine:
# files of /etc, files of the home folder, or the clock. It needs GNU find.
# Caches of Go and npm in the home folder may change.
set -euo pipefail

# state prints name, kind, mode, owner, size and change time of each file. No program
# can set the change time back.
state() {
	find /etc "$HOME" -xdev \
		\( -path "$HOME/.cache" -o -path "$HOME/.npm" -o -path "$HOME/go" -o -path "$HOME/.config/go" -o -path "$PWD" \) -prune -o \
		! -type d -printf '%p %y %m %U:%G %s %C@\n' 2>/dev/null | LC_ALL=C sort || true
}

# drift prints the wall clock less the time since boot, in seconds: setting the clock moves it.
drift() { awk -v now="$(date +%s)" '{ printf "%d\n", now - $1 }' /proc/uptime; }

before=$(mktemp) after=$(mktemp)
trap 'rm -f "$before" "$after"' EXIT
state >"$before"
was=$(drift)
status=0
"$@" || status=$?
state >"$after"
is=$(drift)
if ! diff "$before" "$after" >&2; then
	echo "The command changed files outside its temporary folders; the lines above name them." >&2
	status=1
fi
if [ $((is - was)) -gt 5 ] || [ $((was - is)) -gt 5 ]; then
	echo "The command moved the clock by $((is - was)) seconds." >&2
	status=1
fi
exit $status
