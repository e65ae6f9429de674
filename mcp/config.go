// Package mcp connects agents with servers of the Model Context Protocol.
//
// [Servers] keeps the connections and is a tool set:
//
//	servers := mcp.New(map[string]mcp.Config{
//		"files": {Command: "npx", Args: []string{"-y", "@modelcontextprotocol/server-filesystem", "."}},
//	}, mcp.Options{Workspace: ws})
//	defer servers.Close()
//	servers.Start()
//	a := &agent.Agent{Model: m, Toolsets: []tool.Set{servers}}
//
// Data from servers is not trusted: it is bounded, checked and corrected, or left out. A
// server that fails contributes no tools, and its status says why.
package mcp

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/environ"
	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/same"
	"github.com/openagent-go/agent/mcp/oauth"
	"github.com/openagent-go/agent/tool"
)

// A Config describes a server. Its JSON is that of the members of mcpServers in
// .mcp.json; members of other programs that are unknown here are passed over.
type Config struct {
	// Type is stdio (a child process), http (streamable HTTP), sse (HTTP with server-sent
	// events, the transport of before 2025-03-26), claudeai-proxy (http with the header
	// X-ClaudeAI-Server-ID) or sdk (tools of this program). "": stdio with Command, http with
	// URL, sdk with Tools.
	Type string `json:"type,omitempty"`

	Command string   `json:"command,omitempty"` // looked up in PATH
	Args    []string `json:"args,omitempty"`    // of Command
	// Env are variables for the server beside those that every server gets: HOME,
	// LANG, LC_ALL, LOGNAME, PATH, SHELL, TERM, TMPDIR, TZ and USER.
	Env map[string]string `json:"env,omitempty"`
	Dir string            `json:"cwd,omitempty"` // working directory; relative to the workspace's, which "" is
	// Sandbox has the process confined as the workspace confines commands; it is not
	// started where the workspace confines none.
	Sandbox bool `json:"sandbox,omitempty"`

	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"` // sent to the URL's host only
	ID      string            `json:"id,omitempty"`      // of a server of type claudeai-proxy
	// OAuth configures the login to a server of type http or sse that requires one. Nil:
	// the program registers itself. With a header Authorization there is no login.
	OAuth *oauth.Config `json:"oauth,omitempty"`

	// Tools are the tools of a server of type sdk: they are called directly.
	Tools []tool.Tool `json:"-"`

	// TimeoutMS bounds the milliseconds that a call may be silent: each report of
	// progress restarts the time. 0 is 2 minutes.
	TimeoutMS int `json:"timeout,omitempty"`
	// MaxTimeMS bounds a call in milliseconds, even if it reports progress. 0 is 30
	// minutes.
	MaxTimeMS int `json:"maxTime,omitempty"`
	// StartTimeoutMS bounds the start in milliseconds, until the server has listed its
	// tools. 0 is 30 s.
	StartTimeoutMS int `json:"startTimeout,omitempty"`
	// AlwaysLoad has a prompt wait until the server is connected, or has failed, and
	// its tools are not deferred, however many there are.
	AlwaysLoad bool `json:"alwaysLoad,omitempty"`
	// TrustReadOnly takes tools for reading ones that the server calls so: they run
	// beside other calls, in plan mode and without a question.
	TrustReadOnly bool `json:"trustReadOnly,omitempty"`
	// LogLevel is the least urgent level of the messages of the server's log that are
	// wanted: debug, info, notice, warning, error, critical, alert or emergency. "" leaves
	// that to the server. They go to Options.Log.
	LogLevel string `json:"logLevel,omitempty"`
	// Sampling lets the server put requests to the agent's model during calls of its
	// tools. Each needs permission, as a call of the tool mcp__server__sampling would.
	Sampling bool `json:"sampling,omitempty"`
	Disabled bool `json:"disabled,omitempty"` // do not connect
}

const (
	defaultTimeout = 2 * time.Minute
	defaultMaxTime = 30 * time.Minute
	defaultStart   = 30 * time.Second
)

func milliseconds(n int, otherwise time.Duration) time.Duration {
	if n == 0 {
		return otherwise
	}
	return time.Duration(n) * time.Millisecond
}

func (c Config) timeout() time.Duration { return milliseconds(c.TimeoutMS, defaultTimeout) }
func (c Config) maxTime() time.Duration { return milliseconds(c.MaxTimeMS, defaultMaxTime) }
func (c Config) start() time.Duration   { return milliseconds(c.StartTimeoutMS, defaultStart) }

// kind is the type of the server, also where Type leaves it open.
func (c Config) kind() string {
	switch c.Type {
	case "":
	case "streamable-http", "streamableHttp":
		return mcpnames.HTTP
	default:
		return c.Type
	}
	switch {
	case c.Command != "":
		return mcpnames.Stdio
	case c.URL != "":
		return mcpnames.HTTP
	case c.Tools != nil:
		return mcpnames.InProcess
	}
	return ""
}

// Check returns the mistake that makes a configuration of a server of that name unusable.
func (c Config) Check(name string) error {
	if err := mcpnames.Check(name); err != nil {
		return err
	}
	if c.TimeoutMS < 0 || c.MaxTimeMS < 0 || c.StartTimeoutMS < 0 {
		return errors.New("timeout, maxTime and startTimeout must not be negative")
	}
	if err := c.checkLogin(); err != nil {
		return err
	}
	if err := checkLogLevel(c.LogLevel); err != nil {
		return err
	}
	switch kind := c.kind(); kind {
	case mcpnames.Stdio:
		if c.Command == "" {
			return errors.New("a stdio server needs a command")
		}
		for k, v := range c.Env {
			if k == "" || strings.ContainsAny(k, "=\x00") || strings.Contains(v, "\x00") {
				return fmt.Errorf("env: %q is not a valid name of a variable", k)
			}
		}
	case mcpnames.HTTP, mcpnames.SSE, mcpnames.ClaudeAIProxy:
		u, err := url.Parse(c.URL)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("the url of a server of type %s must begin with https:// or http://", kind)
		}
		if kind == mcpnames.ClaudeAIProxy && c.ID == "" {
			return errors.New("a server of type claudeai-proxy needs an id")
		}
	case mcpnames.InProcess:
		return checkTools(c.Tools)
	case "":
		return errors.New("a server needs a command or a url")
	default:
		return fmt.Errorf("there is no type %q; there are %s, %s, %s and %s", kind, mcpnames.Stdio, mcpnames.HTTP, mcpnames.SSE, mcpnames.ClaudeAIProxy)
	}
	return nil
}

func checkTools(tools []tool.Tool) error {
	seen := map[string]bool{}
	for _, t := range tools {
		name := t.Spec().Name
		if seen[name] {
			return fmt.Errorf("there are two tools named %q", name)
		}
		seen[name] = true
	}
	return nil
}

// same reports whether two configurations make the same server.
func (c Config) same(d Config) bool {
	tools := slices.EqualFunc(c.Tools, d.Tools, func(a, b tool.Tool) bool { return same.Value(a, b) })
	c.Tools, d.Tools = nil, nil
	return tools && reflect.DeepEqual(c, d)
}

func (c Config) clone() Config {
	c.Args, c.Tools, c.Env, c.Headers = slices.Clone(c.Args), slices.Clone(c.Tools), maps.Clone(c.Env), maps.Clone(c.Headers)
	if c.OAuth != nil {
		c.OAuth = new(*c.OAuth)
	}
	return c
}

// secrets are the values in c that must not be shown.
func (c Config) secrets() []string {
	secret := ""
	if c.OAuth != nil {
		secret = c.OAuth.ClientSecret
	}
	return environ.Server(c.Env, c.URL, c.Args, c.Headers, secret)
}
