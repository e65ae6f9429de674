#!/usr/bin/env bash
# Installs the language servers that tests start into .cache/servers, the MCP servers
# into .cache/mcp, a client of the Agent Client Protocol and the adapter that serves Claude
# Code by it into .cache/acp, the Claude Agent SDK into .cache/claude, clients of chat protocols into
# .cache/chat, and tmux, PostgreSQL and Chromium into .cache/tmux, .cache/postgres and .cache/chromium,
# where tests look for them. Of those three, what the machine has counts.
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
if ! command -v chromium >/dev/null && [ ! -x "$cache/chromium/bin/chromium" ]; then
	if command -v apt-get >/dev/null && debian "$cache/chromium" chromium 'chromium-common$|zlib1g$|fonts-dejavu-core$|lib(asound2|async|atk|atspi|avahi|blkid|brotli|bsd|cairo|cap2|com-err|cups2|datrie|dav1d|dbus-1|double-conversion|drm2|event-2|expat1|ffi|flac|fontconfig1|freetype|fribidi|gbm1|gcrypt|glib2|gmp10|gnutls|gpg-error|graphite|gssapi|harfbuzz|hogweed|icu|idn2|jpeg62|jsoncpp|k5crypto|keyutils|krb5|lcms2|lz4|lzma|md0|minizip|mount1|mp3lame|mpg123|nettle|nspr4|nss3|ogg0|openh264|openjp2|opus0|p11-kit|pango|pcre2-8|pixman|png16|pulse0|re2|selinux1|snappy|sndfile|systemd0|tasn1|thai|udev1|unistring|vorbis|wayland-server|webp|woff|x11|xau6|xcb|xcomposite|xdamage|xdmcp|xext6|xfixes|xi6|xkbcommon0|xml2|xnvctrl|xrandr|xrender|xshmfence|xslt1|zstd1)'; then
		wrapper "$cache/chromium/bin/chromium" usr/lib/chromium/chromium
		# Its libraries of sound are in a folder of their own. Fonts are found by a path that is absolute.
		sed -i "s|^LD_LIBRARY_PATH=|FONTCONFIG_FILE=\$root/fonts.conf LD_LIBRARY_PATH=\$(echo \"\$root\"/usr/lib/*-linux-*/pulseaudio):|" "$cache/chromium/bin/chromium"
		printf '<fontconfig><dir>%s/usr/share/fonts</dir><cachedir>%s/fonts</cachedir></fontconfig>\n' "$cache/chromium" "$cache/chromium" >"$cache/chromium/fonts.conf"
	else
		echo "Chromium is not to be had from Debian: tests of pages in a browser are skipped" >&2
		rm -rf "$cache/chromium"
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
