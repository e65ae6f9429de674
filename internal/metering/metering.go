// Package metering is between runs and package quota. A run tells the quota which call a
// model makes. After a crash it tells the quota which calls have no outcome. A program
// without a quota does not link one.
package metering

import (
	"context"
	"time"
)

// A Call is a model call of a run.
type Call struct {
	ID      string // the same after a crash
	Session string // at the root of the tree of agents
}

// NewCall returns the call of a session's effect. root is the session at the root of the
// tree.
func NewCall(session, root, key string, since time.Time) *Call {
	return &Call{ID: session + "/" + key + "@" + since.UTC().Format(time.RFC3339Nano), Session: root}
}

type callKey struct{}

// CallKey is the key of the [*Call] among a context's values.
var CallKey any = callKey{}

// CallOf returns the call that the context belongs to, nil if that is not known.
func CallOf(ctx context.Context) *Call {
	c, _ := ctx.Value(CallKey).(*Call)
	return c
}

// A Model is a model whose calls are counted.
type Model interface {
	// CheckQuota returns an error if the calls of the session cannot be counted.
	CheckQuota(ctx context.Context, session string) error
	// SettleBroken settles the reservation of a call that broke off with its process, of
	// this model or another one. usd is an estimate of its cost, since the time of its start.
	// It does nothing if the call has no reservation.
	SettleBroken(ctx context.Context, c *Call, usd float64, since time.Time) error
}
