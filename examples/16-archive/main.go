// Archive searches sessions by their text, gives them titles, exports them and deletes old ones.
//
// Run it with: go run ./examples/16-archive
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/export"
)

func main() {
	if err := run(context.Background(), os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, out io.Writer) error {
	dir, err := os.MkdirTemp("", "archive")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	store := session.Dir(dir)
	a := &agent.Agent{
		Model:    model(),
		Sessions: store,
	}
	if err := ask(ctx, a, "doors", "How do I keep a lion out?"); err != nil {
		return err
	}
	if err := ask(ctx, a, "backups", "How do I back up at night?"); err != nil {
		return err
	}
	if err := session.Rename(ctx, store, "doors", "Lions and doors"); err != nil {
		return err
	}
	if err := session.SetTag(ctx, store, "doors", "safety"); err != nil {
		return err
	}

	for hit, err := range session.Search(ctx, store, "LION", session.SearchOptions{}) {
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "%s (%s): %s\n", hit.Session.Title, hit.Session.Tag, hit.Snippet)
	}

	var page bytes.Buffer // export.Markdown and export.JSON are like it
	if err := export.HTML(ctx, &page, store, "doors", export.Options{Secrets: []string{"4711-0815"}}); err != nil {
		return err
	}
	for _, text := range []string{"A door will do", "4711-0815", "<script", "http://"} {
		fmt.Fprintf(out, "the page has %q: %t\n", text, strings.Contains(page.String(), text))
	}

	// Sessions that did not change for a month go; one in use would stay.
	list, err := store.List(ctx)
	if err != nil {
		return err
	}
	month := time.Now().AddDate(0, -1, 0)
	gone := 0
	for _, s := range list {
		if s.Tag != "safety" && s.Updated.Before(month) {
			if err := session.Delete(ctx, store, s.Session); err != nil {
				return err
			}
			gone++
		}
	}
	fmt.Fprintf(out, "%d of %d sessions were too old\n", gone, len(list))

	report, err := session.Verify(ctx, store, "backups")
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "backups: damaged: %t\n", report.Damaged())
	return nil
}

func ask(ctx context.Context, a *agent.Agent, id, prompt string) error {
	s := a.Session(id)
	defer s.Close()
	_, err := s.Prompt(ctx, prompt)
	return err
}
