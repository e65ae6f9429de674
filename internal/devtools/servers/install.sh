#!/usr/bin/env bash
# Installs the language servers that tests start into .cache/servers, the MCP servers
# into .cache/mcp, a client of the Agent Client Protocol and the adapter that serves Claude
# Code by it into .cache/acp, and the Claude Agent SDK into .cache/claude, where tests look
# for them. What is there already is left alone.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$here/../../../.cache"
cache=$(cd "$here/../../../.cache" && pwd)
gopls=v0.23.0
mkdir -p "$cache/servers/bin"
if [ ! -x "$cache/servers/bin/gopls" ] || ! "$cache/servers/bin/gopls" version | grep -qF "$gopls"; then
	GOFLAGS= GOBIN=$cache/servers/bin "${GO:-go}" install "golang.org/x/tools/gopls@$gopls"
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
