package session

import "github.com/openagent-go/agent/internal/sessionid"

// NewID returns a new session id: a UUID of version 7 (RFC 9562, method 3 of
// section 6.2). Ids of one process sort in the order in which they were made.
func NewID() string { return sessionid.New() }
