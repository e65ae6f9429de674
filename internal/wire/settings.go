package wire

import (
	"encoding/json"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/llm"
)

// First returns the first value that is not blank, without surrounding space.
func First(values ...string) string {
	for _, v := range values {
		if v = strings.TrimSpace(v); v != "" {
			return v
		}
	}
	return ""
}

// Limit returns d, the default if d is 0, and 0 (no limit) if d is negative.
func Limit(d, byDefault time.Duration) time.Duration {
	if d == 0 {
		return byDefault
	}
	return max(d, 0)
}

// Join adds a path to a base URL, before its query if it has one.
func Join(base, path string) string {
	base, query, found := strings.Cut(base, "?")
	base = strings.TrimRight(base, "/") + path
	if found {
		base += "?" + query
	}
	return base
}

// Host returns the host name in a URL, in lower case, "" if there is none.
func Host(rawURL string) string {
	u, err := url.Parse(rawURL)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Hostname())
}

// Loopback reports whether a host name stands for this machine.
func Loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ToolName makes a valid name of a name that a model made up: 1 to limit letters, digits, _
// and -.
func ToolName(name string, limit int) string {
	name = strings.Map(narrow, name)
	if name == "" {
		return "unnamed"
	}
	return name[:min(len(name), limit)]
}

// narrow keeps letters, digits, _ and -, and replaces other characters with _.
func narrow(r rune) rune {
	if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '_' || r == '-' {
		return r
	}
	return '_'
}

// A Cache keeps encoded parts other than messages that the requests of one transcript
// repeat. The zero Cache is ready to use.
type Cache struct {
	mu         sync.Mutex
	tools      []llm.Tool
	toolsJSON  []byte
	system     string
	systemJSON []byte
	format     json.RawMessage
	formatJSON []byte
}

// Tools returns the encoded tools. It reuses the last encoding if the tools are the same.
func (c *Cache) Tools(tools []llm.Tool, encode func([]llm.Tool) ([]byte, error)) ([]byte, error) {
	if len(tools) == 0 {
		return nil, nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	same := func(a, b llm.Tool) bool {
		return a.Name == b.Name && a.Description == b.Description && string(a.Input) == string(b.Input)
	}
	if c.toolsJSON != nil && slices.EqualFunc(c.tools, tools, same) {
		return c.toolsJSON, nil
	}
	data, err := encode(tools)
	if err == nil {
		c.tools, c.toolsJSON = slices.Clone(tools), data
	}
	return data, err
}

// Format returns the encoded format, nil for a nil format.
func (c *Cache) Format(f json.RawMessage, encode func(json.RawMessage) []byte) []byte {
	if f == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.format == nil || string(c.format) != string(f) {
		c.format, c.formatJSON = f, encode(f)
	}
	return c.formatJSON
}

// System returns the encoded system prompt, nil for a blank one.
func (c *Cache) System(prompt string, encode func(string) []byte) []byte {
	if Blank(prompt) {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.systemJSON == nil || c.system != prompt {
		c.system, c.systemJSON = prompt, encode(prompt)
	}
	return c.systemJSON
}
