// Package mcphost is how package mcp reaches MCP servers that run within the program that drives
// this one.
package mcphost

import (
	"context"
	"encoding/json"
)

// A Conn carries the messages of one connection to a server, JSON-RPC each.
type Conn interface {
	// Write sends a message. It may be called from several goroutines.
	Write(ctx context.Context, message json.RawMessage) error
	// Read returns the next message; io.EOF at the end.
	Read(ctx context.Context) (json.RawMessage, error)
	// Close ends the connection. Read and Write return soon after.
	Close() error
}

// A Dial connects to the server of a name.
type Dial func(ctx context.Context, server string) (Conn, error)
