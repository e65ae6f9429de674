package slash

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/memory"
)

// memory lists the entries of the memory, shows one, or carries out the person's decision about one.
func (c *Commands) memory(ctx context.Context, words []string) error {
	if c.App.Memory == nil {
		return errors.New("the memory is off; openagent config set memory.enabled true switches it on")
	}
	stores := c.App.Memory.Stores
	switch len(words) {
	case 0:
		return c.listMemory(stores)
	case 1:
		e, err := app.FindEntry(c.H, stores, words[0])
		if err != nil {
			return err
		}
		c.Screen.Line(term.Plain, "%s", strings.TrimSuffix(app.EntryText(c.H, e), "\n"))
		return nil
	case 2:
		e, err := app.FindEntry(c.H, stores, words[1])
		if err != nil {
			return err
		}
		did := ""
		switch words[0] {
		case "accept":
			did, err = "accepted", e.Store.Store.Accept(ctx, e.ID, memory.Reason{By: "person", Why: "accepted"})
		case "retire", "reject":
			did, err = "retired", e.Store.Store.Retire(ctx, e.ID, memory.Reason{By: "person", Why: words[0]})
		}
		if did != "" {
			if err != nil {
				return err
			}
			c.Screen.Line(term.Dim, "%s %s", did, e.ID)
			now, err := e.Store.Store.Entry(e.ID)
			if err == nil && now.State == memory.Active { // the file may have changed since the person saw it
				e.Entry = now
				c.Screen.Line(term.Plain, "%s", strings.TrimSuffix(app.EntryText(c.H, e), "\n"))
			}
			return err
		}
	}
	return errors.New("write /memory, /memory ID, or /memory accept|reject|retire ID")
}

func (c *Commands) listMemory(stores []memory.Named) error {
	list, err := app.MemoryEntries(c.H, stores)
	if err != nil {
		return err
	}
	n := 0
	for _, state := range []memory.State{memory.Active, memory.Candidate} {
		for _, e := range list {
			if e.State == state {
				n++
				c.Screen.Line(term.Plain, "%-9s %s", state, c.H.OneLine(fmt.Sprintf("%s  %s  (%s, %s)", e.ID, text.Runes(e.Title, 100), e.Store.Name, e.Kind)))
			}
		}
	}
	if n == 0 {
		c.Screen.Line(term.Dim, "there are no entries yet")
	}
	return nil
}
