#!/usr/bin/env bash
# Installs the language servers that tests start into .cache/servers, the MCP servers
# into .cache/mcp, a client of the Agent Client Protocol and the adapter that serves Claude
# Code by it into .cache/acp, the Claude Agent SDK into .cache/claude and tmux into .cache/tmux,
# where tests look for them. What is there already is left alone.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$here/../../../.cache"
cache=$(cd "$here/../../../.cache" && pwd)
gopls=v0.23.0
mkdir -p "$cache/servers/bin"
if [ ! -x "$cache/servers/bin/gopls" ] || ! "$cache/servers/bin/gopls" version | grep -qF "$gopls"; then
	GOFLAGS= GOBIN=$cache/servers/bin "${GO:-go}" install "golang.org/x/tools/gopls@$gopls"
fi
# debian_tmux FOLDER unpacks the terminal multiplexer and its libraries from Debian, without installing them.
debian_tmux() {
	local packages
	packages=$(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks --no-replaces --no-enhances tmux |
		grep -E '^(tmux|libevent-core-|libutempter0|libtinfo|libsystemd0|libjemalloc)' | sort -u) || return
	(mkdir -p "$1/packages" && cd "$1/packages" && apt-get -qq download $packages && for p in *.deb; do dpkg -x "$p" ../root; done) || return
	mkdir -p "$1/bin"
	cat >"$1/bin/tmux" <<'END'
#!/bin/sh
root=$(cd "$(dirname "$0")/../root" && pwd)
LD_LIBRARY_PATH=$(echo "$root"/usr/lib/*-linux-*):$(echo "$root"/lib/*-linux-*) exec "$root/usr/bin/tmux" "$@"
END
	chmod +x "$1/bin/tmux"
}
if ! command -v tmux >/dev/null && [ ! -x "$cache/tmux/bin/tmux" ]; then
	if ! command -v apt-get >/dev/null || ! debian_tmux "$cache/tmux"; then
		echo "tmux is not to be had from Debian: tests of the terminal UI in tmux are skipped" >&2
		rm -rf "$cache/tmux"
	fi
fi
if ! command -v npm >/dev/null; then
	echo "npm is not installed: no typescript-language-server, no MCP servers, no ACP client and no Claude Agent SDK" >&2
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
