package learn

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/plainfile"
	"github.com/openagent-go/agent/internal/safefile"
	"github.com/openagent-go/agent/internal/text"
)

const (
	maxSkill    = 64 << 10  // bytes of a skill that is proposed
	maxProposal = 512 << 10 // bytes of the file of a proposal
	maxPending  = 100
	lockWait    = 10 * time.Second
)

// A State says what became of a proposal.
type State string

// The states of proposals.
const (
	Pending  State = "pending"  // it waits for a person
	Accepted State = "accepted" // its file was written
	Rejected State = "rejected" // a person did not want it
	Undone   State = "undone"   // it was accepted, and then its file was brought back
)

// A Proposal is a file of a skill as it might be.
type Proposal struct {
	ID      string    `json:"id"`                // the same change has the same
	Time    time.Time `json:"time"`              // when it was made
	Session string    `json:"session,omitempty"` // that it comes from
	Facts   []int64   `json:"facts,omitempty"`   // of the session, which show why
	Skill   string    `json:"skill"`             // its name
	Why     string    `json:"why"`               // for people
	// Root is the project, or the home folder of the user, and File the file below it.
	Root string `json:"root"`
	File string `json:"file"`
	// Before is the content that the proposal changes; nil: the file is new.
	Before  *string   `json:"before,omitempty"`
	After   string    `json:"after"`             // what the file would hold
	Copies  string    `json:"copies,omitempty"`  // whose skill of this name the new file takes the place of, such as a plugin
	State   State     `json:"state"`             // what became of it
	Decided time.Time `json:"decided,omitzero"`  // when a person decided last
	Comment string    `json:"comment,omitempty"` // of the person
}

// Errors of stores.
var (
	// ErrUnknown: there is no such proposal.
	ErrUnknown = errors.New("there is no such proposal")
	// ErrChanged: the file is not as it was when the proposal was made, or when it was accepted.
	ErrChanged = errors.New("the file has changed since")
	// ErrRefused: the proposal may not become a skill.
	ErrRefused = errors.New("the proposal is refused")
	// ErrDecided: a person has decided about the proposal already.
	ErrDecided = errors.New("it was decided before")
)

// A Store keeps proposals, those that were decided too: a file each in one folder. Several processes may
// use it at once.
type Store struct {
	Dir string // its folder, which is made when it is needed
}

var validID = regexp.MustCompile(`^[0-9a-f]{12}$`)

// idOf returns the id of a proposal: the same change has the same.
func idOf(p Proposal) string {
	before := "new"
	if p.Before != nil {
		before = "old\x00" + *p.Before
	}
	sum := sha256.Sum256([]byte(p.File + "\x00" + before + "\x00" + p.After))
	return hex.EncodeToString(sum[:6])
}

// All returns the proposals in all states, the oldest first. Files that are none are reported.
func (s *Store) All() (all []Proposal, problems []error) {
	files, err := os.ReadDir(s.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, []error{err}
	}
	for _, f := range files {
		id, ok := strings.CutSuffix(f.Name(), ".json")
		if !ok || !validID.MatchString(id) {
			continue
		}
		p, err := s.Get(id)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		all = append(all, *p)
	}
	slices.SortFunc(all, func(a, b Proposal) int { return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.ID, b.ID)) })
	return all, problems
}

// Get returns a proposal, or an error that matches [ErrUnknown].
func (s *Store) Get(id string) (*Proposal, error) {
	if !validID.MatchString(id) {
		return nil, fmt.Errorf("proposal %.40q: %w", id, ErrUnknown)
	}
	path := s.path(id)
	data, err := plainfile.ReadFile(path, maxProposal)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("proposal %s: %w", id, ErrUnknown)
	}
	var p Proposal
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err == nil && (p.ID != id || idOf(p) != id) {
		err = errors.New("its content is not that of the proposal")
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w; move the file away", path, err)
	}
	return &p, nil
}

func (s *Store) path(id string) string { return filepath.Join(s.Dir, id+".json") }

func (s *Store) put(p Proposal) error {
	data, err := json.MarshalIndent(p, "", "\t")
	if err != nil {
		return err
	}
	return safefile.Replacement{}.Bytes(s.path(p.ID), append(data, '\n'))
}

// locked calls do while no other process changes the store.
func (s *Store) locked(ctx context.Context, do func() error) (err error) {
	if err := os.MkdirAll(s.Dir, 0o700); err != nil {
		return fmt.Errorf("making the folder of the proposals: %w", err)
	}
	ctx, stop := context.WithTimeout(ctx, lockWait)
	defer stop()
	unlock, err := safefile.Lock(ctx, filepath.Join(s.Dir, ".lock"))
	if err != nil {
		return fmt.Errorf("locking the proposals in %s, which another process may be changing: %w", s.Dir, err)
	}
	defer func() { err = errors.Join(err, unlock()) }()
	return do()
}

// Add keeps a proposal for a person, and returns its id. One that is there already is not added again. It
// fails with [ErrRefused] for a text that looks like an attack or holds a secret, for a file that would
// be no skill, and for a change that was rejected before.
func (s *Store) Add(ctx context.Context, p Proposal) (string, error) {
	if err := check(&p); err != nil {
		return "", err
	}
	p.ID, p.State, p.Time, p.Decided = idOf(p), Pending, time.Now().UTC(), time.Time{}
	p.Why, p.Comment = text.Runes(text.OneLine(secrets.Text(p.Why)), 1000), ""
	err := s.locked(ctx, func() error {
		there, err := s.Get(p.ID)
		switch {
		case err == nil && there.State == Rejected:
			return fmt.Errorf("%w: a person rejected it on %s", ErrRefused, there.Decided.Format(time.DateOnly))
		case err == nil && there.State != Undone:
			return nil
		case err == nil:
			return fmt.Errorf("%w: a person took it back on %s", ErrRefused, there.Decided.Format(time.DateOnly))
		case !errors.Is(err, ErrUnknown):
			return err
		}
		all, _ := s.All()
		pending := slices.DeleteFunc(all, func(p Proposal) bool { return p.State != Pending })
		if len(pending) >= maxPending {
			return fmt.Errorf("%d proposals wait already; decide about them first", len(pending))
		}
		return s.put(p)
	})
	if err != nil {
		return "", err
	}
	return p.ID, nil
}

// Accept writes the file of a proposal, whole or not at all. It fails with [ErrChanged], and changes
// nothing, unless the file is as it was when the proposal was made.
func (s *Store) Accept(ctx context.Context, id string) (*Proposal, error) {
	return s.decide(ctx, id, Accepted, "", func(p *Proposal) error {
		if p.State != Pending {
			return fmt.Errorf("proposal %s is %s: %w", id, p.State, ErrDecided)
		}
		if err := check(p); err != nil {
			return err
		}
		return p.replace(p.Before, &p.After)
	})
}

// Reject keeps a proposal from coming back. The comment is for people.
func (s *Store) Reject(ctx context.Context, id, comment string) (*Proposal, error) {
	return s.decide(ctx, id, Rejected, comment, func(p *Proposal) error {
		if p.State != Pending {
			return fmt.Errorf("proposal %s is %s: %w", id, p.State, ErrDecided)
		}
		return nil
	})
}

// Undo brings the file of an accepted proposal back as it was, and removes one that was new. It fails
// with [ErrChanged], and changes nothing, if the file was changed after it was accepted.
func (s *Store) Undo(ctx context.Context, id string) (*Proposal, error) {
	return s.decide(ctx, id, Undone, "", func(p *Proposal) error {
		if p.State != Accepted {
			return fmt.Errorf("proposal %s is %s, not accepted: %w", id, p.State, ErrDecided)
		}
		return p.replace(&p.After, p.Before)
	})
}

// decide carries out a decision and records it. A process that dies in between leaves a file that is as
// decided: the same decision then only records it.
func (s *Store) decide(ctx context.Context, id string, state State, comment string, do func(*Proposal) error) (p *Proposal, err error) {
	err = s.locked(ctx, func() error {
		if p, err = s.Get(id); err != nil {
			return err
		}
		if err := do(p); err != nil {
			return err
		}
		p.State, p.Decided, p.Comment = state, time.Now().UTC(), text.Runes(text.OneLine(comment), 1000)
		return s.put(*p)
	})
	if err != nil {
		return nil, err
	}
	return p, nil
}

// replace gives the file another content if it has the first one, or the other already. nil is no file.
func (p *Proposal) replace(from, to *string) error {
	if err := p.straight(); err != nil {
		return err
	}
	var now *string
	mode := fs.FileMode(0o644)
	data, err := plainfile.ReadFile(p.File, maxSkill*4)
	switch {
	case err == nil:
		now = new(string(data))
		if info, err := safefile.Lstat(p.File); err == nil {
			mode = info.Mode().Perm()
		}
	case !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("reading %s: %w", p.File, err)
	}
	switch {
	case same(now, to):
		return nil
	case !same(now, from):
		return fmt.Errorf("%s: %w; look at the difference, and edit the file yourself", p.File, ErrChanged)
	case to == nil:
		if err := safefile.Remove(p.File); err != nil {
			return fmt.Errorf("removing %s: %w", p.File, err)
		}
		_ = os.Remove(filepath.Dir(p.File)) // if it is empty
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(p.File), 0o755); err != nil {
		return fmt.Errorf("making the folder of %s: %w", p.File, err)
	}
	if err := (safefile.Replacement{Mode: mode, Temp: safefile.TempName(p.File)}).Bytes(p.File, []byte(*to)); err != nil {
		return fmt.Errorf("writing %s: %w", p.File, err)
	}
	return nil
}

func same(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// straight fails unless the file is below the root without symlinks, so that nothing elsewhere is written.
func (p *Proposal) straight() error {
	rel, err := filepath.Rel(p.Root, p.File)
	if err != nil || !filepath.IsAbs(p.Root) || !filepath.IsLocal(rel) || rel == "." {
		return fmt.Errorf("%w: %s is not below %s", ErrRefused, p.File, p.Root)
	}
	at := p.Root
	parts := strings.Split(rel, string(filepath.Separator))
	for i, part := range parts {
		at = filepath.Join(at, part)
		info, err := os.Lstat(at)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case i < len(parts)-1 && !info.IsDir(), i == len(parts)-1 && !info.Mode().IsRegular():
			return fmt.Errorf("%w: %s is a symlink, or no folder or file; edit the skill yourself", ErrRefused, at)
		}
	}
	return nil
}
