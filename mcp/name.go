package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strings"
)

const (
	maxName     = 64      // of a tool: the documented limit of OpenAI and Anthropic
	maxServer   = 40      // of a server's name in that of a tool
	hashedBytes = 4       // of the hash that makes a changed name unique
	maxOwn      = 1 << 10 // bytes of the name that a server gives a tool, a prompt or an argument
)

var illegal = regexp.MustCompile(`[^a-zA-Z0-9_-]`)

// prefix is the beginning of the names of a server's tools. It depends on the server's name
// alone.
func prefix(server string) string {
	legal := illegal.ReplaceAllString(server, "_")
	if legal != server || len(legal) > maxServer || strings.Contains(legal, "__") {
		for strings.Contains(legal, "__") {
			legal = strings.ReplaceAll(legal, "__", "_")
		}
		legal = strings.Trim(legal, "_")
		legal = shorten(strings.TrimRight(legal[:min(len(legal), maxServer-2*hashedBytes-1)], "_"), maxServer, server)
	}
	return "mcp__" + legal + "__"
}

// names returns the names that the model sees for the tools of a server: legal,
// no longer than 64 bytes, unique, and the same for the same list in any order.
// They are in the order of tools; a tool that is listed twice has "" the second time.
func names(server string, tools []string) []string {
	head := prefix(server)
	plain := func(t string) string { return head + illegal.ReplaceAllString(t, "_") }
	seen := map[string]bool{}
	count := map[string]int{} // of tools that would be called so
	for _, t := range tools {
		if !seen[t] {
			seen[t] = true
			count[plain(t)]++
		}
	}
	out := make([]string, len(tools))
	for i, t := range tools {
		if !seen[t] {
			continue
		}
		seen[t] = false
		name := plain(t)
		if len(name) > maxName || count[name] > 1 && name != head+t || t == "" {
			name = shorten(name, maxName, server+"\x00"+t)
		}
		out[i] = name
	}
	return out
}

// shorten cuts a name and adds a hash of the whole name.
func shorten(name string, limit int, of string) string {
	sum := sha256.Sum256([]byte(of))
	tail := "_" + hex.EncodeToString(sum[:hashedBytes])
	return name[:min(len(name), limit-len(tail))] + tail
}
