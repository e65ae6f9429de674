package durable_test

import (
	"context"
	"testing"

	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/durable/durabletest"
)

// A hasty backend rejects a command right after a client has looked for the first time.
type hasty struct {
	durable.Backend
	looked bool
}

func (b *hasty) reject(ctx context.Context, session string) error {
	if b.looked {
		return nil
	}
	b.looked = true
	return b.Backend.Reject(ctx, session, "id", "no such model")
}

func (b *hasty) Rejected(ctx context.Context, session, id string) (string, bool, error) {
	reason, ok, err := b.Backend.Rejected(ctx, session, id)
	if err == nil {
		err = b.reject(ctx, session)
	}
	return reason, ok, err
}

func (b *hasty) Inbox(ctx context.Context, session string) ([]durable.Mail, error) {
	list, err := b.Backend.Inbox(ctx, session)
	if err == nil {
		err = b.reject(ctx, session)
	}
	return list, err
}

// A command that is rejected while a client looks is not taken for carried out.
func TestRejectedWhileLooking(t *testing.T) {
	b := &hasty{Backend: (&durabletest.Memory{}).Connect()}
	if err := b.Post(t.Context(), "s", durable.Mail{ID: "id", Body: []byte("{}")}); err != nil {
		t.Fatal(err)
	}
	client := &durable.Client{Backend: b}
	if settled, err := client.Settled(t.Context(), "s", "id"); settled && err == nil {
		t.Error("it was settled without an error")
	}
	if settled, err := client.Settled(t.Context(), "s", "id"); !settled || err == nil {
		t.Errorf("later it is settled %v, %v", settled, err)
	}
}
