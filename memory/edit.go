package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// ErrSuspicious means that a text looks like an attempt to steer the model: see [Suspicious].
var ErrSuspicious = errors.New("the entry looks like an attempt to steer the model")

// Add adds an entry as a candidate, and returns it. Its ID, state and counts are set by Add. If
// there is an entry of this kind and title, also one that is retired, Add returns that one: it
// gets the new evidence, and keeps its text.
func (s *Store) Add(ctx context.Context, e Entry, r Reason) (*Entry, error) {
	var out *Entry
	_, err := s.apply(ctx, Change{Reason: r}, func(d *draft) (err error) {
		out, err = d.add(e)
		return err
	})
	return out, err
}

func (d *draft) add(e Entry) (*Entry, error) {
	e.Title, e.Text = strings.TrimSpace(e.Title), strings.TrimSpace(e.Text)
	e.ID, e.State, e.Confirmed, e.Confirmations, e.Contradictions = idOf(e.Kind, e.Title), Candidate, time.Time{}, 0, 0
	there, err := d.entry(e.ID)
	switch {
	case errors.Is(err, ErrUnknown):
		d.before[e.ID] = nil
		return &e, d.set(&e)
	case err != nil:
		return nil, err
	}
	learned := len(there.Evidence)
	for _, one := range e.Evidence {
		if !slices.Contains(there.Evidence, one) && len(there.Evidence) < maxEvidence {
			there.Evidence = append(there.Evidence, one)
		}
	}
	if len(there.Evidence) == learned {
		return there, nil
	}
	return there, d.set(there)
}

const maxEvidence = 20 // pieces of evidence of an entry

// Accept makes a candidate active. What it replaces or asks to retire is retired. An entry that
// looks like an attempt to steer the model is refused with [ErrSuspicious]: edit its text first.
func (s *Store) Accept(ctx context.Context, id string, r Reason) error {
	_, err := s.apply(ctx, Change{Reason: r}, func(d *draft) error { return d.accept(id) })
	return err
}

func (d *draft) accept(id string) error {
	e, err := d.entry(id)
	if err != nil {
		return err
	}
	// The record can be that of a hostile repository: the person has seen another text.
	if e.State != Active && slices.ContainsFunc(d.late, func(f FileChange) bool { return f.ID == id }) {
		return fmt.Errorf("entry %s has just got the text of a change that was cut off; look at it again, then accept it", id)
	}
	if why := Suspicious(e.Title + "\n" + e.Text); why != "" {
		return fmt.Errorf("entry %s: %w: %s", id, ErrSuspicious, why)
	}
	for _, old := range []string{e.Replaces, e.Retires} {
		if old == "" {
			continue
		}
		if err := d.retire(old); err != nil && !errors.Is(err, ErrUnknown) {
			return err
		}
	}
	if e.State = Active; e.Retires != "" {
		e.State = Retired
	} else {
		e.confirm(d.store.now())
	}
	return d.set(e)
}

// Retire makes an entry count no more. It is how a candidate is rejected as well.
func (s *Store) Retire(ctx context.Context, id string, r Reason) error {
	_, err := s.apply(ctx, Change{Reason: r}, func(d *draft) error { return d.retire(id) })
	return err
}

func (d *draft) retire(id string) error {
	e, err := d.entry(id)
	if err != nil {
		return err
	}
	e.State = Retired
	return d.set(e)
}

// Confirm records that the work agreed with an entry.
func (s *Store) Confirm(ctx context.Context, id string, r Reason) error {
	_, err := s.apply(ctx, Change{Reason: r}, func(d *draft) error {
		e, err := d.entry(id)
		if err != nil {
			return err
		}
		e.confirm(s.now())
		return d.set(e)
	})
	return err
}

func (e *Entry) confirm(now time.Time) {
	e.Confirmations++
	e.Confirmed = now.UTC().Truncate(24 * time.Hour)
}

// Contradict records that the work did not agree with an entry. An active one whose
// [Entry.Confidence] falls below a half becomes a candidate.
func (s *Store) Contradict(ctx context.Context, id string, r Reason) error {
	_, err := s.apply(ctx, Change{Reason: r}, func(d *draft) error { return d.contradict(id) })
	return err
}

func (d *draft) contradict(id string) error {
	e, err := d.entry(id)
	if err != nil {
		return err
	}
	if e.Contradictions++; e.State == Active && e.Confidence() < 0.5 {
		e.State = Candidate
	}
	return d.set(e)
}

// Rewrite gives an entry another title and text. Its ID stays.
func (s *Store) Rewrite(ctx context.Context, id, title, text string, r Reason) error {
	_, err := s.apply(ctx, Change{Reason: r}, func(d *draft) error {
		e, err := d.entry(id)
		if err != nil {
			return err
		}
		e.Title, e.Text = strings.TrimSpace(title), strings.TrimSpace(text)
		if why := Suspicious(e.Title + "\n" + e.Text); why != "" && e.State == Active {
			return fmt.Errorf("entry %s: %w: %s", id, ErrSuspicious, why)
		}
		return d.set(e)
	})
	return err
}
