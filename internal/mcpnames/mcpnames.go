// Package mcpnames knows the names of MCP servers, of their types and of their states.
package mcpnames

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// The types of servers, as mcp.Config.Type has them.
const (
	Stdio = "stdio" // a child process
	HTTP  = "http"  // streamable HTTP
	SSE   = "sse"   // HTTP with server-sent events, the transport of before 2025-03-26
	// ClaudeAIProxy is streamable HTTP with the header X-ClaudeAI-Server-ID.
	ClaudeAIProxy = "claudeai-proxy"
	InProcess     = "sdk" // tools of this program
)

// States of servers, see mcp.State.
const (
	Pending   = "pending"
	Connected = "connected"
	Failed    = "failed"
	NeedsAuth = "needs-auth"
	Disabled  = "disabled"
)

// Check reports why a server cannot have a name. The name of a tool is
// mcp__server__tool, so the server's must not hold "__".
func Check(name string) error {
	switch {
	case name == "":
		return errors.New("a server needs a name")
	case !utf8.ValidString(name) || len(name) > 200:
		return errors.New("the name of a server must be UTF-8 of at most 200 bytes")
	case strings.Contains(name, "__") || strings.HasSuffix(name, "_"):
		return fmt.Errorf("the name %q must not hold __ nor end in _: tools are called mcp__server__tool; give the server another name", name)
	}
	return nil
}
