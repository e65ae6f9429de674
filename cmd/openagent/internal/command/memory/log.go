package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/memory"
)

// A changeJSON is a change in the output of the command.
type changeJSON struct {
	Store    string    `json:"store"`
	N        int       `json:"n"`
	Time     time.Time `json:"time"`
	By       string    `json:"by"`
	Why      string    `json:"why,omitempty"`
	Entries  []string  `json:"entries"`
	Reviewed string    `json:"reviewed,omitempty"`
	Undoes   int       `json:"undoes,omitempty"`
}

func changeOf(store string, c memory.Change) changeJSON {
	out := changeJSON{Store: store, N: c.N, Time: c.Time, By: c.By, Why: c.Why, Entries: []string{}, Reviewed: c.Reviewed, Undoes: c.Undoes}
	for _, f := range c.Files {
		out.Entries = append(out.Entries, f.ID)
	}
	return out
}

func listChanges(h *cli.IO, o *memoryOptions, stores []memory.Named) error {
	list := []changeJSON{}
	for _, n := range stores {
		changes, err := n.Store.Changes()
		if err != nil {
			return cli.Usagef("%w", err)
		}
		for _, c := range changes {
			list = append(list, changeOf(n.Name, c))
		}
	}
	slices.SortStableFunc(list, func(a, b changeJSON) int {
		return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(b.N, a.N))
	})
	list = list[:min(len(list), cmp.Or(o.limit, 20))]
	var rows [][]string
	for _, c := range list {
		what := strings.Join(c.Entries, ", ")
		if c.Undoes > 0 {
			what = fmt.Sprintf("undoes %d: %s", c.Undoes, what)
		}
		rows = append(rows, []string{c.Time.Local().Format(time.DateTime), c.Store, strconv.Itoa(c.N), c.By, cmp.Or(c.Why, "-"), cmp.Or(what, "-")})
	}
	if len(rows) == 0 && o.format != cli.FormatJSON {
		h.Warn("nothing has changed here yet")
		return nil
	}
	return h.WriteList(o.format, list, "TIME STORE N BY WHY ENTRIES", rows)
}

// undo undoes the latest change of the stores, or one by its number.
func undo(ctx context.Context, h *cli.IO, o *memoryOptions, stores []memory.Named, args []string) error {
	n := 0
	if len(args) == 1 {
		var err error
		if n, err = strconv.Atoi(args[0]); err != nil || n < 1 {
			return cli.Usagef("memory undo: %q is not the number of a change; openagent memory log shows them", cli.Clip(args[0]))
		}
	}
	store, err := changedStore(stores, n)
	if err != nil {
		return err
	}
	c, err := store.Store.Undo(ctx, n, byPerson("undone"))
	if err != nil {
		return cli.Usagef("memory undo: %w", err)
	}
	out := changeOf(store.Name, c)
	return h.WriteList(o.format, out, "", [][]string{{fmt.Sprintf("change %d of the %s is undone:", c.Undoes, store.Name), strings.Join(out.Entries, ", ")}})
}

// changedStore returns the store that undo is about: the one with the latest change, or the only one
// that has a change of the number.
func changedStore(stores []memory.Named, n int) (memory.Named, error) {
	var found []memory.Named
	var latest time.Time
	for _, s := range stores {
		changes, err := s.Store.Changes()
		if err != nil {
			return s, cli.Usagef("%w", err)
		}
		switch {
		case n > 0:
			if slices.ContainsFunc(changes, func(c memory.Change) bool { return c.N == n }) {
				found = append(found, s)
			}
		case len(changes) > 0 && (found == nil || changes[len(changes)-1].Time.After(latest)):
			found, latest = []memory.Named{s}, changes[len(changes)-1].Time
		}
	}
	switch {
	case len(found) > 1:
		return found[0], cli.Usagef("memory undo: the project and you have a change %d; add --project or --user", n)
	case len(found) == 1:
		return found[0], nil
	case n > 0:
		return memory.Named{}, cli.Usagef("memory undo: there is no change %d; openagent memory log shows them", n)
	}
	return memory.Named{}, cli.Usagef("memory undo: nothing has changed here yet")
}
