#!/usr/bin/env bash
# Installs the language servers that tests start into .cache/servers, the MCP servers
# into .cache/mcp, a client of the Agent Client Protocol and the adapter that serves Claude
# Code by it into .cache/acp, the Claude Agent SDK into .cache/claude, clients of chat protocols into
# .cache/chat, tmux into .cache/tmux and PostgreSQL into .cache/postgres, where tests look for them.
# What is there already is left alone.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$here/../../../.cache"
cache=$(cd "$here/../../../.cache" && pwd)
gopls=v0.23.0
mkdir -p "$cache/servers/bin"
if [ ! -x "$cache/servers/bin/gopls" ] || ! "$cache/servers/bin/gopls" version | grep -qF "$gopls"; then
	GOFLAGS= GOBIN=$cache/servers/bin "${GO:-go}" install "golang.org/x/tools/gopls@$gopls"
fi
# debian FOLDER PACKAGE LIBRARIES unpacks a package and those of its libraries that match a pattern from Debian,
# without installing them.
debian() {
	local packages
	packages=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances "$2" |
		grep -E "^($2\$|$3)" | sort -u) || return
	(mkdir -p "$1/packages" && cd "$1/packages" && apt-get -qq download $packages && for p in *.deb; do dpkg -x "$p" ..; done) || return
	rm -rf "$1/packages"
}
# wrapper FILE PROGRAM writes a script that runs a program with the libraries beside it.
wrapper() {
	mkdir -p "$(dirname "$1")"
	cat >"$1" <<END
#!/bin/sh
root=\$(cd "\$(dirname "\$0")/.." && pwd)
LD_LIBRARY_PATH=\$(echo "\$root"/usr/lib/*-linux-*):\$(echo "\$root"/lib/*-linux-*) exec "\$root/$2" "\$@"
END
	chmod +x "$1"
}
if ! command -v tmux >/dev/null && [ ! -x "$cache/tmux/bin/tmux" ]; then
	if command -v apt-get >/dev/null && debian "$cache/tmux" tmux 'libevent-core-|libutempter0|libtinfo|libsystemd0|libjemalloc'; then
		wrapper "$cache/tmux/bin/tmux" usr/bin/tmux
	else
		echo "tmux is not to be had from Debian: tests of the terminal UI in tmux are skipped" >&2
		rm -rf "$cache/tmux"
	fi
fi
if ! command -v initdb >/dev/null && ! compgen -G '/usr/lib/postgresql/*/bin/initdb' >/dev/null && ! compgen -G "$cache/postgres/usr/lib/postgresql/*/bin/initdb" >/dev/null; then
	version=$(apt-cache pkgnames postgresql- 2>/dev/null | grep -E '^postgresql-[0-9]+$' | sort -V | tail -1) || true
	if [ -z "$version" ] || ! debian "$cache/postgres" "$version" 'libpq5|libicu|libxml2|libldap|libsasl2-2|libgssapi|libkrb5|libk5crypto|libkeyutils|libcom-err|libssl|liblz4|libzstd|libpam0g|libsystemd0|libselinux'; then
		echo "PostgreSQL is not to be had from Debian: tests with a database are skipped" >&2
		rm -rf "$cache/postgres"
	fi
fi
if ! command -v npm >/dev/null; then
	echo "npm is not installed: no typescript-language-server, no MCP servers, no ACP client, no Claude Agent SDK and no chat clients" >&2
	[ "${CI:-}" != true ] # where everything is tested
	exit
fi

# packages FROM TO PACKAGE [OPTION...] installs what the files of FROM say, unless PACKAGE
# of the same files is in TO. The options are those of npm ci.
packages() {
	if ! cmp -s "$1/package-lock.json" "$2/package-lock.json" || [ ! -e "$2/node_modules/$3" ]; then
		mkdir -p "$2"
		rm -rf "$2/node_modules" "$2/package-lock.json"
		cp "$1/package.json" "$2/"
		(cd "$2" && cp "$1/package-lock.json" lock.json && mv lock.json package-lock.json && npm ci --no-audit --no-fund "${@:4}") || { rm -f "$2/package-lock.json"; exit 1; }
	fi
}
packages "$here" "$cache/servers" typescript-language-server
packages "$here/mcp" "$cache/mcp" @modelcontextprotocol/conformance
# Without optional packages: they bring along Claude Code itself.
packages "$here/acp" "$cache/acp" @agentclientprotocol/claude-agent-acp --omit=optional --legacy-peer-deps
packages "$here/claude" "$cache/claude" @anthropic-ai/claude-agent-sdk --omit=optional --legacy-peer-deps
packages "$here/chat" "$cache/chat" openai
