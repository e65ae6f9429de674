package memory

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/faultdisk"
)

// Changes that were acknowledged are there after any crash and power loss.
func TestCrash(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	note := func(n int) Entry { return Entry{Kind: Decision, Title: fmt.Sprint("Note ", n), Text: "why"} }
	faultdisk.Check(t, faultdisk.Case[*Store]{
		Open: func(folder string) *Store { return Open(filepath.Dir(folder), "a/b") },
		Same: func() *Store { return Open(t.TempDir(), ProjectFolder) },
		Change: func(s *Store, n int) (err error) {
			before := note(n - (n-1)%3)
			switch id := idOf(before.Kind, before.Title); n % 3 {
			case 1:
				_, err = s.Add(ctx, note(n), Reason{By: "agent"})
			case 2:
				err = s.Accept(ctx, id, Reason{By: "person"})
			case 0:
				err = s.Retire(ctx, id, Reason{By: "person"})
			}
			return err
		},
		State: func(s *Store) (string, error) {
			entries, problems, err := s.Entries()
			if err != nil || len(problems) > 0 {
				return "", fmt.Errorf("%v, %w", problems, err)
			}
			var b strings.Builder
			for _, e := range entries {
				fmt.Fprintln(&b, e.ID, e.State, e.Text) // to accept again confirms
			}
			return b.String(), nil
		},
	})
}
