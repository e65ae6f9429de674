package tools

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/internal/grep"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/internal/walk"
	"github.com/openagent-go/agent/tool"
)

//go:embed grep.md
var grepText string

// grepSchema is written out, because members have defaults that are not zero
// and output_mode has a list of words. The bounds of numbers are in
// grepInput.check: here every request would pay for them.
const grepSchema = `{
	"type": "object",
	"properties": {
		"pattern": {"type": "string"},
		"path": {"type": "string"},
		"glob": {"type": "string"},
		"type": {"type": "string"},
		"output_mode": {"type": "string", "enum": ["content", "files_with_matches", "count"]},
		"-n": {"type": "boolean"},
		"-i": {"type": "boolean"},
		"-A": {"type": "integer"},
		"-B": {"type": "integer"},
		"-C": {"type": "integer"},
		"context": {"type": "integer"},
		"head_limit": {"type": "integer"},
		"offset": {"type": "integer"},
		"multiline": {"type": "boolean"}
	},
	"required": ["pattern"],
	"additionalProperties": false
}`

const (
	defaultHead = 250
	maxHead     = 1_000_000
	maxAround   = 1000 // lines of context
	// maxGrepBytes bounds the text of a result, even if a higher limit was asked for.
	maxGrepBytes = 4 << 20
)

type grepInput struct {
	Pattern    string `json:"pattern"`
	Path       string `json:"path"`
	Glob       string `json:"glob"`
	Type       string `json:"type"`
	OutputMode string `json:"output_mode"`
	Numbers    *bool  `json:"-n"`
	IgnoreCase bool   `json:"-i"`
	After      int    `json:"-A"`
	Before     int    `json:"-B"`
	Around     int    `json:"-C"`
	Context    int    `json:"context"` // the same
	HeadLimit  *int   `json:"head_limit"`
	Offset     int    `json:"offset"`
	Multiline  bool   `json:"multiline"`
}

// grepDetails are the Details of a result of Grep.
type grepDetails struct {
	Mode      string `json:"mode"`
	Files     int    `json:"files"`   // shown
	Matches   int    `json:"matches"` // shown in content mode, counted in count mode
	Truncated bool   `json:"truncated"`
}

// Grep returns the tool that searches the contents of files.
func Grep(finder Workspace) tool.Tool {
	return tool.New(tool.Spec{
		Name: "Grep", Title: "Search in files", Description: grepText, Input: json.RawMessage(grepSchema),
		ReadOnly: true, NonDestructive: true, Idempotent: true,
	}, func(ctx context.Context, call tool.Call, in grepInput) (*tool.Result, error) {
		return searchFiles(ctx, finder, call, in)
	}).OnClassify(func(call tool.Call, in grepInput) tool.Traits {
		return classifySearch(finder, call, in.Path)
	})
}

// check says which numbers are out of bounds.
func (in grepInput) check() error {
	head := 0
	if in.HeadLimit != nil {
		head = *in.HeadLimit
	}
	var problems []string
	for _, n := range []struct {
		name       string
		value, max int
	}{
		{"-A", in.After, maxAround}, {"-B", in.Before, maxAround}, {"-C", in.Around, maxAround}, {"context", in.Context, maxAround},
		{"head_limit", head, maxHead}, {"offset", in.Offset, maxHead},
	} {
		if n.value < 0 || n.value > n.max {
			problems = append(problems, fmt.Sprintf("%s must be from 0 to %d", n.name, n.max))
		}
	}
	if problems != nil {
		return &tool.InputError{Tool: "Grep", Problems: problems}
	}
	return nil
}

func searchFiles(ctx context.Context, finder toolapi.Finder, call tool.Call, in grepInput) (*tool.Result, error) {
	if in.Pattern == "" {
		return tool.Errorf("The pattern is empty."), nil
	}
	if err := in.check(); err != nil {
		return nil, err
	}
	pattern, err := grep.Compile(in.Pattern, grep.Options{IgnoreCase: in.IgnoreCase, Multiline: in.Multiline})
	if err != nil {
		return tool.Errorf("The pattern %q cannot be used: %v.", in.Pattern, err), nil
	}
	filter, err := newFilter(in.Glob, in.Type)
	if err != nil {
		return tool.Errorf("%v", err), nil
	}
	t, err := openTree(ctx, finder, call, in.Path)
	if err != nil {
		return tool.Errorf("%v", err), nil
	}
	defer t.close()
	f := newFindings(in, t)
	l, err := candidates(ctx, t, filter, f.mode == filesMode)
	var refused *refusal
	switch {
	case errors.As(err, &refused), errors.Is(err, walk.ErrTooMany):
		return tool.Errorf("%v", err), nil
	case err != nil:
		return nil, err
	}
	paths := make([]string, len(l.Files))
	for i, file := range l.Files {
		paths[i] = file.Path
	}
	s := grep.Search{Pattern: pattern, Want: f.want(), Before: cmp.Or(in.Before, in.Around, in.Context), After: cmp.Or(in.After, in.Around, in.Context), Max: f.end}
	f.context = s.Before+s.After > 0
	if err := t.search(ctx, s, paths, f.add); err != nil {
		return nil, err
	}
	return f.result(l), nil
}

// A refusal is an error for the model.
type refusal struct{ text string }

func (e *refusal) Error() string { return e.text }

// candidates lists the files to search: the newest first, if asked for, so that
// only some need to be searched, else by path.
func candidates(ctx context.Context, t *tree, f *filter, newest bool) (*walk.Listing, error) {
	if t.file == "" {
		return t.list(ctx, walk.Walk{Enter: f.enter, Want: f.want, Times: newest})
	}
	if t.hides(walk.File{Path: t.file}) {
		return nil, &refusal{t.abs(t.file) + " may not be read: a rule forbids it."}
	}
	info, err := t.folder.Lstat(t.file)
	if err != nil || !info.Mode().IsRegular() {
		return nil, &refusal{t.abs(t.file) + " is neither a file nor a folder."}
	}
	return &walk.Listing{Files: []walk.File{{Path: t.file}}}, nil
}

const (
	filesMode   = "files_with_matches"
	contentMode = "content"
	countMode   = "count"
)

// findings is the answer while it is put together.
type findings struct {
	in      grepInput
	tree    *tree
	mode    string
	numbers bool // shown
	context bool // asked for
	end     int  // lines or entries after which there are only more; 0: no end

	text    strings.Builder
	seen    int // lines or entries, those skipped included
	shown   int
	last    string // the path of the line shown last
	line    int    // its number
	files   int
	matches int
	more    bool // than is shown
	skipped [grep.LongLine + 1]int
}

func newFindings(in grepInput, t *tree) *findings {
	f := &findings{in: in, tree: t, mode: cmp.Or(in.OutputMode, filesMode), numbers: in.Numbers == nil || *in.Numbers}
	limit := defaultHead
	if in.HeadLimit != nil {
		limit = *in.HeadLimit
	}
	if limit > 0 {
		f.end = in.Offset + limit + 1
	}
	return f
}

func (f *findings) want() grep.Want {
	switch f.mode {
	case contentMode:
		return grep.Lines
	case countMode:
		return grep.Count
	}
	return grep.Whether
}

// add adds the matches of a file. It returns false when no more are wanted.
func (f *findings) add(path string, r grep.Report) bool {
	f.skipped[r.Skipped]++
	switch {
	case f.mode == contentMode:
		return f.addLines(path, r)
	case r.Count == 0:
		return true
	case f.mode == countMode:
		f.files++
		f.matches += r.Count
		if f.next() {
			f.write(oneLine(f.tree.show(path)), ":", strconv.Itoa(r.Count))
		}
		return true // the sum is of all files
	}
	if f.next() {
		f.files++
		f.write(oneLine(f.tree.show(path)))
	}
	return !f.more
}

// next reports whether the next line or entry is to be shown: it is not to be
// skipped, nor one too many.
func (f *findings) next() bool {
	f.seen++
	if f.end > 0 && f.seen >= f.end || f.text.Len() > maxGrepBytes {
		f.more = true
	}
	if f.seen <= f.in.Offset || f.more {
		return false
	}
	f.shown++
	return true
}

func (f *findings) write(parts ...string) {
	for _, p := range parts {
		f.text.WriteString(p)
	}
	f.text.WriteByte('\n')
}

// addLines takes the lines of a file.
func (f *findings) addLines(path string, r grep.Report) bool {
	var name string
	if len(r.Lines) > 0 {
		name = oneLine(f.tree.show(path))
	}
	for _, l := range r.Lines {
		if !f.next() {
			continue
		}
		if f.context && f.last != "" && (path != f.last || l.Number != f.line+1) {
			f.write("--")
		}
		if path != f.last {
			f.files++
		}
		sep := "-"
		if l.Match {
			sep = ":"
			f.matches++
		}
		if f.numbers {
			f.write(name, sep, strconv.Itoa(l.Number), sep, l.Text)
		} else {
			f.write(name, sep, l.Text)
		}
		f.last, f.line = path, l.Number
	}
	f.more = f.more || r.More
	return !f.more
}

// result puts the answer together.
func (f *findings) result(l *walk.Listing) *tool.Result {
	notes := f.notes(l)
	if f.shown > 0 {
		for _, n := range notes {
			f.write("(", n, ")")
		}
	} else {
		f.text.WriteString(strings.Join(append([]string{f.nothing(l)}, notes...), " "))
	}
	r := tool.Text(f.text.String())
	r.Title = heading("Grep", f.in.Pattern)
	r.Details = toolapi.Details(grepDetails{Mode: f.mode, Files: f.files, Matches: f.matches, Truncated: f.more})
	return r
}

// nothing says why nothing is shown.
func (f *findings) nothing(l *walk.Listing) string {
	var text string
	switch {
	case f.more:
		return fmt.Sprintf("There is too much text before offset %d: narrow the search.", f.in.Offset)
	case f.seen > 0:
		return fmt.Sprintf("There is nothing after offset %d: the search has %d results.", f.in.Offset, f.seen)
	case f.mode == filesMode:
		text = fmt.Sprintf("No files matched the pattern %q.", f.in.Pattern)
	default:
		text = fmt.Sprintf("No matches found for pattern %q.", f.in.Pattern)
	}
	switch {
	case f.tree.file != "" && f.skipped[grep.Binary] > 0:
		text += " It is a binary file, which is not searched."
	case len(l.Files) == 0:
		text += " There was no file to search in " + f.tree.path + "."
	}
	return text + leftOut(&walk.Listing{Ignored: l.Ignored})
}

// notes returns further notes for the model.
func (f *findings) notes(l *walk.Listing) []string {
	var notes []string
	if f.mode == countMode && f.files > 0 {
		what := "matching lines"
		if f.in.Multiline {
			what = "matches"
		}
		notes = append(notes, fmt.Sprintf("%s: %d, in files: %d.", what, f.matches, f.files))
	}
	if f.more && f.shown > 0 {
		notes = append(notes, fmt.Sprintf("Results %d to %d are shown. There are more: use offset %d, or narrow the search.", f.in.Offset+1, f.in.Offset+f.shown, f.in.Offset+f.shown))
	}
	for _, s := range []struct {
		skip grep.Skip
		text string
	}{
		{grep.TooLarge, "not searched: too large for multiline mode."},
		{grep.LongLine, "searched only in part: a line is too long."},
		{grep.Unreadable, "not searched: no permission, or gone."},
	} {
		if n := f.skipped[s.skip]; n > 0 {
			notes = append(notes, were(n, "file", "files")+" "+s.text)
		}
	}
	if s := unread(l); s != "" {
		notes = append(notes, s[1:])
	}
	return notes
}
