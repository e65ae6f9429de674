package teamstore

import (
	"context"
	"fmt"
	"time"

	"github.com/openagent-go/agent/internal/text"
)

// copyOf returns the tasks and teams of a space for the copy of its session, nil if there are none.
func copyOf(ctx context.Context, k backend, from string) (*state, error) {
	copied := newRoom()
	err := k.see(ctx, from, func(r *state, _ time.Time) error {
		for _, t := range r.tasks.tasks {
			c := t.clone()
			if c.Status == InProgress {
				c.Status, c.Owner, c.LeaseUntil = Pending, "", time.Time{}
			}
			copied.tasks.tasks = append(copied.tasks.tasks, &c)
		}
		for _, t := range r.teams {
			c := t.clone()
			copied.teams = append(copied.teams, &c)
		}
		return nil
	})
	if err != nil || copied.empty() {
		return nil, err
	}
	return copied, nil
}

// empty reports whether a space has no tasks, teams and agents.
func (r *state) empty() bool { return len(r.tasks.tasks)+len(r.teams)+len(r.agents) == 0 }

// errOccupied is the error of a copy into a space that has something.
func errOccupied(space string) error {
	return fmt.Errorf("%w: there are tasks or teams in %q already", ErrInvalid, text.Bytes(space, maxShown))
}

// Copy copies the tasks and teams of a space into an empty one, as [Dir.Copy] does.
func (s *LedgerStore) Copy(ctx context.Context, from, to string) error {
	copied, err := copyOf(ctx, s, from)
	if err != nil || copied == nil {
		return err
	}
	return s.with(ctx, to, func(r *replica) error {
		r.forget()
		defer r.forget()
		_, err := s.Ledger.Write(ctx, to, "", func(lines []string, now time.Time) ([]string, bool, error) {
			if err := r.apply(to, lines, ""); err != nil {
				return nil, false, err
			}
			if !r.room.empty() {
				return nil, false, errOccupied(to)
			}
			state, _, err := ledgerState(copied, now)
			return state, true, err
		})
		if err != nil {
			return fmt.Errorf("copying tasks and teams: %w", err)
		}
		return nil
	})
}

// Copy copies the tasks and teams of a space into an empty one, if the store can do that.
func (s *Store) Copy(ctx context.Context, from, to string) error {
	copier, ok := s.Shared().(interface {
		Copy(ctx context.Context, from, to string) error
	})
	if l, leases := s.Shared().(leased); leases {
		copier, ok = l.Shared.(interface {
			Copy(ctx context.Context, from, to string) error
		})
	}
	if !ok {
		return nil
	}
	return copier.Copy(ctx, from, to)
}
