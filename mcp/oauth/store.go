package oauth

import (
	"context"

	"github.com/openagent-go/agent/internal/mcpauth"
)

// A Store keeps logins, each under a key. A login is a JSON object that holds secrets: keep
// it as you keep keys. A Store is safe for concurrent use.
type Store interface {
	// Load returns a login, nil if there is none.
	Load(ctx context.Context, key string) ([]byte, error)
	// Update replaces a login by the result of change; nil stands for no login, both ways.
	// change may take as long as a request on the network. In the meantime no other process
	// or goroutine that shares the store updates the login. If change fails, nothing
	// changes. When Update returns nil, the login is stored.
	Update(ctx context.Context, key string, change func(old []byte) ([]byte, error)) error
}

// Dir returns a [Store] of files in a folder, one for each login, that only their owner can
// read. It makes the folder where there is none. Several programs may use it at once.
func Dir(path string) Store { return mcpauth.Public(&mcpauth.Dir{Path: path}) }
