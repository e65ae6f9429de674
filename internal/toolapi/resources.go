package toolapi

import (
	"context"
	"errors"
)

// ErrNoServer is matched by the error of [Resources] for a server that is not
// there or not connected.
var ErrNoServer = errors.New("there is no such server")

// A Resource is something that an MCP server lets others read.
type Resource struct {
	URI         string `json:"uri"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	MIMEType    string `json:"mimeType,omitempty"`
	Server      string `json:"server"`
}

// A ResourceContent is a part of a resource: text, or bytes if Blob is not nil.
type ResourceContent struct {
	URI      string
	MIMEType string
	Text     string
	Blob     []byte
}

// Resources are the resources of the connected MCP servers.
type Resources interface {
	// Servers returns the names of the connected servers, in a stable order.
	Servers() []string
	// List returns the resources of a server, [ErrNoServer] if it is not connected.
	// It may be asked about several servers at a time.
	List(ctx context.Context, server string) ([]Resource, error)
	Read(ctx context.Context, server, uri string) ([]ResourceContent, error)
}
