// Continue finds the latest of several sessions and continues it in a fork that ends at an earlier
// message.
//
// Run it with: go run ./examples/15-continue
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "continue")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	store := session.Dir(dir)
	a := &agent.Agent{
		Model:    model(),
		Sessions: store,
	}
	if err := hold(ctx, a, "shopping", "Let us talk about shopping."); err != nil {
		return err
	}
	if err := hold(ctx, a, "trip", "My trip goes to Lisbon.", "No, to Porto."); err != nil {
		return err
	}

	latest, err := session.Latest(ctx, store)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "latest: %s, %q\n", latest.Session, latest.Prompt)
	before, err := firstAnswer(ctx, store, latest.Session)
	if err != nil {
		return err
	}
	trip := a.Session(latest.Session)
	defer trip.Close()
	fork, err := trip.Fork(ctx, before) // Session.Rewind would do it in place
	if err != nil {
		return err
	}
	defer fork.Close()
	res, err := fork.Prompt(ctx, "Where does it go?") // the copy knows nothing of Porto
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "the copy says: %s\n", res.Text)
	for _, s := range []*agent.Session{trip, fork} {
		ms, err := s.Messages(ctx)
		if err != nil {
			return err
		}
		for _, m := range ms {
			fmt.Fprintf(out, "  %s: %s\n", m.Role, m.Text())
		}
		fmt.Fprintln(out)
	}
	return nil
}

// hold is a conversation, as another program might have had it.
func hold(ctx context.Context, a *agent.Agent, id string, prompts ...string) error {
	s := a.Session(id)
	defer s.Close()
	for _, p := range prompts {
		if _, err := s.Prompt(ctx, p); err != nil {
			return err
		}
	}
	return nil
}

// firstAnswer returns the number of the fact that is the first answer.
func firstAnswer(ctx context.Context, store session.Store, id string) (int64, error) {
	messages, err := session.Load(ctx, store, id, 0, 0)
	if err != nil {
		return 0, err
	}
	for _, e := range messages {
		if _, ok := e.Data.(event.AssistantMessage); ok {
			return e.Seq, nil
		}
	}
	return 0, fmt.Errorf("session %s has no answer", id)
}
