package quota

import (
	"context"
	"iter"
	"time"

	"github.com/openagent-go/agent/internal/metering"
	"github.com/openagent-go/agent/llm"
)

// By is the quota of an agent that serves many users or tenants. The function returns the
// accounts of a prompt, from the id of its session or from its context. Sub-agents pay by the
// session at the root of their tree.
//
// The function is called for each model call, from several goroutines. Return the same
// *Account for the same user each time, so that a warning comes once. Nil: the call is not
// limited.
type By func(ctx context.Context, session string) Accounts

// Meter returns the model with its calls counted in the account of their session.
func (f By) Meter(m llm.Model) llm.Model {
	if f == nil {
		return m
	}
	return &bySession{m, f}
}

type bySession struct {
	llm.Model
	account By
}

// Info returns the facts about the model.
func (m *bySession) Info() llm.Info { return llm.InfoOf(m.Model) }

// CheckQuota implements [metering.Model].
func (m *bySession) CheckQuota(ctx context.Context, session string) error {
	if counted, ok := m.account(ctx, session).Meter(m.Model).(metering.Model); ok {
		return counted.CheckQuota(ctx, session)
	}
	return nil
}

// SettleBroken implements [metering.Model].
func (m *bySession) SettleBroken(ctx context.Context, c *metering.Call, usd float64, since time.Time) error {
	if counted, ok := m.account(ctx, c.Session).Meter(m.Model).(metering.Model); ok {
		return counted.SettleBroken(ctx, c, usd, since)
	}
	return nil
}

// Stream makes the call, which counts in the account of its session.
func (m *bySession) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Delta, error] {
	session := req.Session
	if c := metering.CallOf(ctx); c != nil {
		session = c.Session
	}
	return m.account(ctx, session).Meter(m.Model).Stream(ctx, req)
}
