#!/usr/bin/env bash
# Installs the language servers that tests start into .cache/servers, where tests
# look for them. What is there already is left alone.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
to=$here/../../../.cache/servers
gopls=v0.23.0
mkdir -p "$to/bin"
to=$(cd "$to" && pwd)
if [ ! -x "$to/bin/gopls" ] || ! "$to/bin/gopls" version | grep -qF "$gopls"; then
	GOFLAGS= GOBIN=$to/bin "${GO:-go}" install "golang.org/x/tools/gopls@$gopls"
fi
if ! command -v npm >/dev/null; then
	echo "npm is not installed: no typescript-language-server" >&2
	[ "${CI:-}" != true ] # where everything is tested
	exit
fi
if ! cmp -s "$here/package-lock.json" "$to/package-lock.json" || [ ! -e "$to/node_modules/typescript-language-server" ]; then
	rm -rf "$to/node_modules" "$to/package-lock.json"
	cp "$here/package.json" "$to/"
	(cd "$to" && cp "$here/package-lock.json" lock.json && mv lock.json package-lock.json && npm ci --no-audit --no-fund) || { rm -f "$to/package-lock.json"; exit 1; }
fi
