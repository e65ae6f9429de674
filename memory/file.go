package memory

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/front"
)

const (
	maxFile   = 64 << 10 // bytes of a file of an entry
	maxMatter = 16 << 10 // bytes of its front matter
	dayLayout = "2006-01-02"
)

// parse reads the file of an entry. Its errors are [front.Fault]s.
func parse(id string, data []byte) (*Entry, error) {
	matter, body, err := front.Split(data, true, maxMatter)
	if err != nil {
		return nil, err
	}
	if matter == nil {
		return nil, &front.Fault{Line: 1, Text: "an entry begins with front matter between two lines ---"}
	}
	values, _, err := front.Parse(matter)
	if err != nil {
		return nil, err
	}
	e := &Entry{ID: id, State: Candidate, Text: strings.TrimSpace(string(body))}
	for _, v := range values {
		if err := e.set(v); err != nil {
			return nil, err
		}
	}
	if err := e.check(); err != nil {
		return nil, &front.Fault{Line: 1, Text: err.Error()}
	}
	return e, nil
}

// set takes in one value of the front matter.
func (e *Entry) set(v front.Value) (err error) {
	var s string
	switch v.Key {
	case "title":
		e.Title, err = v.Text()
	case "kind":
		s, err = v.Text()
		e.Kind = Kind(s)
	case "state":
		s, err = v.Text()
		e.State = State(s)
	case "replaces":
		e.Replaces, err = v.Text()
	case "retires":
		e.Retires, err = v.Text()
	case "confirmed":
		if s, err = v.Text(); err == nil && s != "" {
			if e.Confirmed, err = time.Parse(dayLayout, s); err != nil {
				return v.Fault("%q is no day; write it as %s", s, dayLayout)
			}
		}
	case "confirmations":
		e.Confirmations, err = count(v)
	case "contradictions":
		e.Contradictions, err = count(v)
	case "evidence":
		list, err := v.Items()
		if err != nil {
			return err
		}
		for _, s := range list {
			one, err := parseEvidence(s)
			if err != nil {
				return v.Fault("%v", err)
			}
			e.Evidence = append(e.Evidence, one)
		}
	default:
		e.more = append(e.more, v)
	}
	return err
}

// count returns a number from 0 on.
func count(v front.Value) (int, error) {
	if s, err := v.Text(); err == nil && (s == "" || s == "0") {
		return 0, nil
	}
	return v.Count(1_000_000)
}

// check returns an error if an entry cannot be kept.
func (e *Entry) check() error {
	switch {
	case strings.TrimSpace(e.Title) == "":
		return errors.New("the title is missing")
	case len(e.Title) > maxTitle || strings.ContainsAny(e.Title, "\r\n"):
		return fmt.Errorf("the title has %d bytes; write one line of %d at most", len(e.Title), maxTitle)
	case !slices.Contains(Kinds(), e.Kind):
		return fmt.Errorf("there is no kind %q of entries; the kinds are preference, decision, convention, pitfall and procedure", e.Kind)
	case !slices.Contains([]State{Candidate, Active, Retired}, e.State):
		return fmt.Errorf("there is no state %q; the states are candidate, active and retired", e.State)
	case len(e.Text) > maxText:
		return fmt.Errorf("the text has %d bytes, %d is the limit; keep what matters", len(e.Text), maxText)
	}
	return nil
}

// format returns the file of an entry: the inverse of parse.
func (e *Entry) format() ([]byte, error) {
	values := []front.Value{front.New("title", e.Title), front.New("kind", string(e.Kind)), front.New("state", string(e.State))}
	add := func(key string, value any) { values = append(values, front.New(key, value)) }
	if !e.Confirmed.IsZero() {
		add("confirmed", e.Confirmed.UTC().Format(dayLayout))
	}
	if e.Confirmations > 0 {
		add("confirmations", e.Confirmations)
	}
	if e.Contradictions > 0 {
		add("contradictions", e.Contradictions)
	}
	if e.Replaces != "" {
		add("replaces", e.Replaces)
	}
	if e.Retires != "" {
		add("retires", e.Retires)
	}
	if len(e.Evidence) > 0 {
		var list []string
		for _, one := range e.Evidence {
			list = append(list, one.String())
		}
		add("evidence", list)
	}
	data, err := front.Format(append(values, e.more...), e.Text)
	if err != nil {
		return nil, fmt.Errorf("writing entry %s: %w", e.ID, err)
	}
	return data, nil
}
