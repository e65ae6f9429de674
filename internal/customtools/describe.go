package customtools

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/tool"
)

const (
	// describeTime is how long a file may take to describe itself. When so much time
	// has passed since the first was asked no other is, until the next prompt.
	describeTime = 5 * time.Second
	describers   = 8 // files that are asked at a time

	maxDescribe    = 1 << 20 // bytes that describe may write
	maxDescription = 8 << 10 // bytes
	maxTitle       = 200     // bytes
	maxSchema      = 64 << 10
	maxParts       = 64 // tools of one file
	maxTimeout     = 24 * time.Hour
)

// described is the description that a file gives of itself.
type described struct {
	parts []part
	err   error // the reason for missing tools
}

// A part is one tool of a file.
type part struct {
	arg  string // what run is told; "" where the file is one tool
	spec tool.Spec
}

// description is the form in which a file describes a tool.
type description struct {
	Name           string          `json:"name"`
	Title          string          `json:"title"`
	Description    string          `json:"description"`
	Input          json.RawMessage `json:"input_schema"`
	ReadOnly       bool            `json:"read_only"`
	NonDestructive bool            `json:"non_destructive"`
	Idempotent     bool            `json:"idempotent"`
	OpenWorld      bool            `json:"open_world"`
	Timeout        int64           `json:"timeout_ms"`
	NeedsApproval  json.RawMessage `json:"needs_approval"`
}

// key tells files and their contents apart; where others may fill the folder, the
// contents of all files in it.
func (f file) key() string {
	if f.folder.Trusted {
		return f.path + "\x00" + f.sum
	}
	return f.path + "\x00" + f.listing.Sum
}

// A laterError is why a file could not be asked, which may be otherwise with the
// next prompt.
type laterError string

func (e laterError) Error() string { return string(e) }

const (
	errLate     = laterError("others took too long to describe themselves; it is asked with the next prompt")
	errReplaced = laterError("its files are being changed; it is loaded with the next prompt")
	errStopped  = laterError("the prompt has ended")
)

// describe returns the descriptions of the files. It asks new files, and forgets those that
// are gone or have changed. Hanging and broken files are remembered too: they cost their
// time once.
func (s *Set) describe(ctx context.Context, files []file) map[string]*described {
	s.mu.Lock()
	all := map[string]*described{}
	var asked []file
	for _, f := range files {
		if d := s.known[f.key()]; d != nil {
			all[f.key()] = d
		} else {
			asked = append(asked, f)
		}
	}
	s.mu.Unlock()
	known := maps.Clone(all)
	slow := hung{}
	if len(asked) > 0 && s.Hung != "" {
		slow = s.readHung()
	}
	answers := make([]described, len(asked))
	turns := make(chan struct{}, describers)
	begun := time.Now()
	var wg sync.WaitGroup
	for i, f := range asked {
		if until, ok := slow[hungKey(f)]; ok {
			answers[i].err = laterError(fmt.Sprintf("describe took too long before; it is asked again after %s, or when it has changed", until.Local().Format(time.TimeOnly)))
			continue
		}
		turns <- struct{}{}
		if time.Since(begun) >= s.describeTime() {
			answers[i].err = errLate
			<-turns
			continue
		}
		wg.Go(func() {
			defer func() { <-turns }()
			answers[i].parts, answers[i].err = s.ask(ctx, f)
		})
	}
	wg.Wait()
	var late []file
	for i, f := range asked {
		if errors.As(answers[i].err, new(hungError)) {
			late = append(late, f)
		}
		all[f.key()] = &answers[i]
		if _, later := answers[i].err.(laterError); !later {
			known[f.key()] = &answers[i]
		}
	}
	if len(late) > 0 && s.Hung != "" {
		if err := s.addHung(late); err != nil {
			s.warn(fmt.Errorf("remembering which custom tools hang: %w", err))
		}
	}
	s.mu.Lock()
	s.known = known
	s.mu.Unlock()
	return all
}

func (s *Set) describeTime() time.Duration { return cmp.Or(s.patience, describeTime) }

// ask runs "FILE describe". Between reading a file and running it another may have
// been put in its place, so it is looked at once more.
func (s *Set) ask(ctx context.Context, f file) ([]part, error) {
	if s.unchanged(f) != nil {
		return nil, errReplaced
	}
	patience := s.describeTime()
	limited, cancel := context.WithTimeoutCause(ctx, patience, hungError{patience})
	defer cancel()
	p := process{args: []string{f.path, "describe"}, max: maxDescribe}
	code, err := p.run(limited, s.Workspace)
	switch {
	case ctx.Err() != nil:
		return nil, errStopped
	case err != nil:
		return nil, err
	case code != 0:
		return nil, fmt.Errorf("describe ended with exit code %d%s", code, p.stderr.after(": "))
	}
	return parse(f.path, p.stdout.Bytes())
}

// parse reads the output of describe. Invalid tools are left out, and named by the error.
func parse(path string, data []byte) ([]part, error) {
	base := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	data = bytes.TrimSpace(data)
	if !bytes.HasPrefix(data, []byte("[")) {
		var d *description
		if err := json.Unmarshal(data, &d); err != nil {
			return nil, fmt.Errorf("describe did not write a JSON object or array: %w", err)
		}
		if d == nil {
			return nil, errors.New("describe did not write a JSON object or array, but null")
		}
		if d.Name == "" {
			d.Name = base
		}
		spec, err := d.spec(d.Name)
		if err != nil {
			return nil, err
		}
		return []part{{"", spec}}, nil
	}
	var list []description
	if err := json.Unmarshal(data, &list); err != nil {
		return nil, fmt.Errorf("reading what describe wrote: %w", err)
	}
	if len(list) > maxParts {
		return nil, fmt.Errorf("it has %d tools, more than %d", len(list), maxParts)
	}
	var parts []part
	var problems []error
	seen := map[string]bool{}
	for i, d := range list {
		spec, err := d.spec(base + "_" + d.Name)
		switch {
		case d.Name == "":
			err = errors.New("it has no name")
		case err == nil && seen[d.Name]:
			err = errors.New("there is another one of this name")
		}
		if err != nil {
			problems = append(problems, fmt.Errorf("tool %d, %.100q: %w", i+1, d.Name, err))
			continue
		}
		seen[d.Name] = true
		parts = append(parts, part{d.Name, spec})
	}
	return parts, errors.Join(problems...)
}

// spec makes the Spec of a tool of that name.
func (d description) spec(name string) (tool.Spec, error) {
	spec := tool.Spec{Name: name, Title: oneLine(d.Title, maxTitle), Description: strings.TrimSpace(text.Clean(d.Description)), Input: d.Input,
		ReadOnly: d.ReadOnly, NonDestructive: d.NonDestructive || d.ReadOnly, Idempotent: d.Idempotent, OpenWorld: d.OpenWorld,
		Timeout: time.Duration(d.Timeout) * time.Millisecond}
	switch {
	case len(spec.Description) > maxDescription:
		return spec, fmt.Errorf("its description has more than %d bytes", maxDescription)
	case len(d.Input) > maxSchema:
		return spec, fmt.Errorf("its input schema has more than %d bytes", maxSchema)
	case len(d.NeedsApproval) > maxSchema:
		return spec, fmt.Errorf("its needs_approval has more than %d bytes", maxSchema)
	case d.Timeout < 0 || d.Timeout > maxTimeout.Milliseconds():
		return spec, fmt.Errorf("its timeout_ms is not from 0 to %d", maxTimeout.Milliseconds())
	case strings.HasPrefix(name, "mcp__"):
		return spec, errors.New("names that begin with mcp__ are those of MCP servers' tools")
	}
	if string(d.Input) == "null" {
		spec.Input = nil
	}
	if d.NeedsApproval != nil {
		var err error
		if spec.NeedsApproval, err = tool.AskMatching(d.NeedsApproval); err != nil {
			return spec, fmt.Errorf("its needs_approval %w", err)
		}
	}
	return spec, spec.Check()
}

// oneLine makes text fit for a line.
func oneLine(s string, most int) string {
	return text.Bytes(text.OneLine(text.Clean(s)), most)
}
