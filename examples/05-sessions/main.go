// Sessions stores a conversation on disk, resumes it as another process could, and forks it.
//
// Run it with: go run ./examples/05-sessions
package main

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/session"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "sessions")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	a := &agent.Agent{
		Model:    model(),
		Sessions: session.Dir(dir),
	}
	s := a.Session("colours")
	if err := ask(ctx, out, s, "My favourite colour is green."); err != nil {
		return err
	}
	if err := s.Close(); err != nil { // as when the process ends
		return err
	}

	s = a.Session("colours") // the same conversation
	defer s.Close()
	if err := ask(ctx, out, s, "Which is it?"); err != nil {
		return err
	}

	fork, err := s.Fork(ctx, 0) // a new one with the same past
	if err != nil {
		return err
	}
	defer fork.Close()
	if err := ask(ctx, out, fork, "Forget that. Pick another."); err != nil {
		return err
	}
	for _, s := range []*agent.Session{s, fork} {
		ms, err := s.Messages(ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%d messages\n", len(ms))
	}
	return nil
}

func ask(ctx context.Context, out io.Writer, s *agent.Session, prompt string) error {
	res, err := s.Prompt(ctx, prompt)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "> %s\n%s\n", prompt, res.Text)
	return nil
}
