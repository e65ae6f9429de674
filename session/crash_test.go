package session_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/faultdisk"
	"github.com/openagent-go/agent/session"
)

// Facts, forks and deletions that were acknowledged are there after any crash, and one that was
// cut off is there as a whole or not at all. An agent of a session goes with it.
func TestCrash(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	appendTo := func(s session.Store, id string) error {
		log, err := s.Open(ctx, id, session.Header{})
		if err != nil {
			return err
		}
		n := log.Last()
		return errors.Join(log.Append(ctx, n, true, factOf(n+1)), log.Close())
	}
	faultdisk.Check(t, faultdisk.Case[session.Store]{
		Open: session.Dir,
		Same: session.Memory,
		// A record with a hole in the middle is damage, which a person repairs.
		Ordered: true,
		Left:    func(line string) bool { return strings.Contains(line, "/about.json.part ") }, // until the session is opened
		Change: func(s session.Store, n int) error {
			switch n % 6 {
			case 3:
				return session.Fork(ctx, s, "s", fmt.Sprint("fork", n), 0)
			case 4:
				return appendTo(session.Under(s, "s"), fmt.Sprint("agent", n))
			case 5:
				return session.Delete(ctx, s, fmt.Sprint("fork", n-2))
			}
			return appendTo(s, "s")
		},
		State: func(s session.Store) (string, error) {
			var b strings.Builder
			for _, store := range []session.Store{s, session.Under(s, "s")} {
				list, err := store.List(ctx)
				if err != nil {
					return "", err
				}
				var lines []string
				for _, info := range list {
					if info.Facts == 0 {
						continue // it was begun and has none
					}
					line := info.Session
					for e, err := range store.Read(ctx, info.Session, 0) {
						if err != nil {
							return "", fmt.Errorf("%s: %w", info.Session, err)
						}
						line += fmt.Sprint(" ", e.Seq)
					}
					lines = append(lines, line)
				}
				slices.Sort(lines)
				fmt.Fprintln(&b, lines)
			}
			return b.String(), nil
		},
	})
}
