package tools

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/grep"
	"github.com/openagent-go/agent/internal/symbols"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/internal/walk"
	"github.com/openagent-go/agent/tool"
)

//go:embed codesearch.md
var codeSearchText string

// codeSearchSchema is written out, because kind has a list of words.
const codeSearchSchema = `{
	"type": "object",
	"properties": {
		"query": {"type": "string"},
		"path": {"type": "string"},
		"kind": {"type": "string", "enum": ["symbol", "text"], "description": "default both"},
		"limit": {"type": "integer", "minimum": 1, "maximum": 200, "description": "default 20"}
	},
	"required": ["query"],
	"additionalProperties": false
}`

const (
	defaultHits = 20
	// maxCodeQuery is the length in bytes of the longest query.
	maxCodeQuery = 200
	// maxQueryWords is how many words of a query count.
	maxQueryWords = 8
	// maxCandidates is how many files are looked at more closely for symbols, and
	// how many for text.
	maxCandidates = 5000
	// maxDefinitions is how many definitions are kept until only the best of them
	// are: many more than are ever shown.
	maxDefinitions = 10_000
	// maxBatchLines is how many lines of a handful of files are looked at.
	maxBatchLines = 20_000
	// minPart is the length in bytes of the shortest word that may be a part of a
	// word: a shorter one is in everything.
	minPart = 3
	// linesOfFile is how many lines of a file are shown for the words in its text.
	linesOfFile = 3
	// maxHitText is how many characters of a line are shown.
	maxHitText = 200
	// codeSearchTime bounds a search; results found by then are shown.
	codeSearchTime = 20 * time.Second
)

type codeSearchInput struct {
	Query string `json:"query"`
	Path  string `json:"path"`
	Kind  string `json:"kind"`
	Limit int    `json:"limit"`
}

// codeSearchDetails are the Details of a result of CodeSearch.
type codeSearchDetails struct {
	Symbols   int  `json:"symbols"`   // shown
	Lines     int  `json:"lines"`     // of text, shown
	Files     int  `json:"files"`     // searched
	Truncated bool `json:"truncated"` // there is more than is shown
	TimedOut  bool `json:"timedOut"`
}

// codeSearchTool returns the tool that finds definitions and text by words.
func codeSearchTool(finder Workspace) tool.Tool {
	return tool.New(tool.Spec{
		Name: "CodeSearch", Title: "Search code", Description: codeSearchText, Input: json.RawMessage(codeSearchSchema),
		ReadOnly: true, NonDestructive: true, Idempotent: true,
	}, func(ctx context.Context, call tool.Call, in codeSearchInput) (*tool.Result, error) {
		return searchCode(ctx, finder, call, in)
	}).OnClassify(func(call tool.Call, in codeSearchInput) tool.Traits {
		return classifySearch(finder, call, in.Path)
	})
}

func searchCode(ctx context.Context, finder toolapi.Finder, call tool.Call, in codeSearchInput) (*tool.Result, error) {
	in.Query = strings.TrimSpace(in.Query)
	switch {
	case in.Query == "":
		return tool.Errorf("query is empty; give a name or words to look for"), nil
	case len(in.Query) > maxCodeQuery:
		return tool.Errorf("query has %d bytes; give a name or a few words, at most %d bytes", len(in.Query), maxCodeQuery), nil
	case strings.ContainsAny(in.Query, "\n\r"):
		return tool.Errorf("query has several lines; give a name or words of one line"), nil
	}
	t, err := openTree(ctx, finder, call, in.Path)
	if err != nil {
		return tool.Errorf("%v", err), nil
	}
	defer t.close()
	limited, cancel := context.WithTimeoutCause(ctx, codeSearchTime, errTimedOut)
	defer cancel()
	l, err := candidates(limited, t, &filter{}, false)
	var refused *refusal
	switch {
	case errors.As(err, &refused), errors.Is(err, walk.ErrTooMany):
		return tool.Errorf("%v", err), nil
	case err != nil && context.Cause(limited) != errTimedOut:
		return nil, err
	case err != nil:
		return tool.Errorf("%s has too many files to look through in %s: search a folder further down.", t.path, codeSearchTime), nil
	}
	s := newCodeSearch(in.Query, t)
	err = s.lines(limited, l)
	if err == nil && in.Kind != "text" {
		err = s.definitions(limited, func(d symbols.Symbol) int { return s.rate(d.Name) })
	}
	late := context.Cause(limited) == errTimedOut
	if err != nil && !late {
		return nil, err
	}
	return s.result(in, l, late), nil
}

// codeSearch is a search while it continues.
type codeSearch struct {
	tree  *tree
	query string
	words []string // of the query, in lower case
	// literal is the extra weight of a line that holds the query literally. It is high if
	// the query is more than words.
	literal int
	defs    []codeHit
	found   int // definitions, those included that were not kept
	files   []textFile
	// likely are the files in which some line has all words, in their order.
	likely []string
}

// A codeHit is a line that was found.
type codeHit struct {
	path  string // relative to the tree, with slashes
	line  int
	kind  string // "" for text
	name  string
	text  string
	score int
}

// A textFile is a file whose text has all words.
type textFile struct {
	path    string
	lines   []codeHit // the best
	rank    int       // 2: a line has the query as it was written; 1: a line has all words
	density float64
}

func newCodeSearch(query string, t *tree) *codeSearch {
	words := symbols.Words(query)
	if len(words) == 0 {
		words = []string{strings.ToLower(query)}
	}
	slices.Sort(words)
	words = slices.Compact(words)
	s := &codeSearch{tree: t, query: query, words: words[:min(len(words), maxQueryWords)], literal: 1}
	if strings.ContainsFunc(query, func(r rune) bool { return !isNameRune(r) && r != ' ' }) {
		s.literal = 10
	}
	return s
}

// lines finds the lines that have words of the query.
func (s *codeSearch) lines(ctx context.Context, l *walk.Listing) error {
	alternatives := make([]string, len(s.words))
	for i, w := range s.words {
		alternatives[i] = regexp.QuoteMeta(w)
	}
	pattern, err := grep.Compile(strings.Join(alternatives, "|"), grep.Options{IgnoreCase: true})
	if err != nil {
		return fmt.Errorf("searching for %q: %w", s.query, err)
	}
	paths := make([]string, len(l.Files))
	for i, f := range l.Files {
		paths[i] = f.Path
	}
	search := grep.Search{Pattern: pattern, Want: grep.Lines, Max: maxBatchLines}
	return s.tree.search(ctx, search, paths, func(path string, r grep.Report) bool {
		s.add(path, r.Lines)
		return true
	})
}

// add takes the lines of a file that have some word.
func (s *codeSearch) add(path string, lines []grep.Line) {
	if len(lines) == 0 {
		return
	}
	var found [maxQueryWords]bool
	file := textFile{path: path}
	query := strings.ToLower(s.query)
	weight := 0
	for _, l := range lines {
		text := strings.ToLower(l.Text)
		n := 0
		for i, w := range s.words {
			if strings.Contains(text, w) {
				found[i] = true
				n++
			}
		}
		if n == len(s.words) {
			file.rank = max(file.rank, 1)
		}
		hit := codeHit{path: path, line: l.Number, text: l.Text, score: n}
		if strings.Contains(text, query) {
			hit.score += s.literal // as it was written
			file.rank = 2
		}
		weight += hit.score * hit.score
		file.keep(hit)
	}
	for i := range s.words {
		if !found[i] {
			return
		}
	}
	best := file.lines[0].score
	file.lines = slices.DeleteFunc(file.lines, func(h codeHit) bool { return 2*h.score < best })
	if file.rank > 0 && len(s.likely) < maxCandidates && symbols.Of(path) != nil {
		s.likely = append(s.likely, path)
	}
	if len(s.files) == maxCandidates {
		return
	}
	size := int64(0)
	if info, err := s.tree.folder.Lstat(path); err == nil {
		size = info.Size()
	}
	// Long files have more of everything, short ones reach any density with a word.
	file.density = float64(weight) / math.Sqrt(float64(size>>10)+4)
	s.files = append(s.files, file)
}

// keep keeps the best lines of a file, the first of those that are as good.
func (f *textFile) keep(h codeHit) {
	at := len(f.lines)
	for at > 0 && f.lines[at-1].score < h.score {
		at--
	}
	if at < linesOfFile {
		f.lines = slices.Insert(f.lines, at, h)
		f.lines = f.lines[:min(len(f.lines), linesOfFile)]
	}
}

// definitions looks for definitions in the likely files; rate says how good one
// is, 0 for not at all.
func (s *codeSearch) definitions(ctx context.Context, rate func(symbols.Symbol) int) error {
	err := s.tree.read(ctx, s.likely, func(i int, r io.Reader) {
		data, _ := io.ReadAll(io.LimitReader(r, maxSource)) // the readable part is searched
		s.define(s.likely[i], data, rate)
	})
	if err != nil {
		return fmt.Errorf("reading files of %s: %w", s.tree.path, err)
	}
	s.sortDefinitions()
	return nil
}

// define takes the definitions in a file.
func (s *codeSearch) define(file string, data []byte, rate func(symbols.Symbol) int) {
	for _, d := range symbols.Of(file).Scan(data, s.hasAll) {
		if score := rate(d); score > 0 {
			s.defs = append(s.defs, codeHit{path: file, line: d.Line, kind: d.Kind, name: d.Name, text: d.Text, score: score})
			s.found++
		}
	}
	if len(s.defs) > maxDefinitions {
		s.sortDefinitions()
		s.defs = s.defs[:maxDefinitions/10]
	}
}

// sortDefinitions puts the best first, and otherwise keeps their order.
func (s *codeSearch) sortDefinitions() {
	slices.SortStableFunc(s.defs, func(a, b codeHit) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(ofTests(a.path), ofTests(b.path)))
	})
}

// hasAll reports whether a line has all words.
func (s *codeSearch) hasAll(line []byte) bool {
	text := strings.ToLower(string(line))
	for _, w := range s.words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// rate says how well a name fits the query.
func (s *codeSearch) rate(name string) int {
	if name == s.query {
		return 6
	}
	if strings.EqualFold(name, s.query) {
		return 5
	}
	words := symbols.Words(name)
	whole, part := 0, 0
	lower := strings.ToLower(name)
	for _, w := range s.words {
		switch {
		case slices.Contains(words, w):
			whole++
		case len(w) >= minPart && strings.Contains(lower, w):
			part++
		}
	}
	switch {
	case whole == len(s.words) && len(words) == whole:
		return 4 // the same words
	case whole == len(s.words), part > 0 && strings.Contains(lower, strings.ToLower(s.query)):
		return 3
	case whole+part == len(s.words):
		return 2
	}
	return 0
}

// ofTests is 1 for the files of tests, which searches seldom look for.
func ofTests(file string) int {
	base := strings.ToLower(path.Base(file))
	if strings.Contains(base, "test") || strings.Contains(base, "spec.") {
		return 1
	}
	return 0
}

// result puts the answer together.
func (s *codeSearch) result(in codeSearchInput, l *walk.Listing, late bool) *tool.Result {
	limit := cmp.Or(in.Limit, defaultHits)
	texts := s.texts()
	if in.Kind == "symbol" {
		texts = nil
	}
	// Text gets the room that definitions leave, but at least a quarter of it.
	room := limit
	if len(texts) > 0 {
		room -= min(len(texts), limit/4)
	}
	d := codeSearchDetails{Symbols: min(len(s.defs), room), Files: len(l.Files), TimedOut: late}
	d.Lines = min(len(texts), limit-d.Symbols)
	d.Truncated = d.Symbols < s.found || d.Lines < len(texts)
	var b strings.Builder
	for _, h := range slices.Concat(s.defs[:d.Symbols], texts[:d.Lines]) {
		fmt.Fprintf(&b, "%s:%d: ", oneLine(s.tree.show(h.path)), h.line)
		if h.kind != "" {
			fmt.Fprintf(&b, "%s %s: ", h.kind, h.name)
		}
		b.WriteString(clip(h.text) + "\n")
	}
	switch {
	case b.Len() == 0:
		fmt.Fprintf(&b, "Nothing was found for %q in %s.%s", in.Query, text.Count(len(l.Files), "file"), leftOut(l))
	case d.Truncated:
		fmt.Fprintf(&b, "(%s and %s of text were found; the best are shown. Use more words, path or kind to narrow the search.)\n", text.Count(s.found, "definition"), text.Count(len(texts), "line"))
	}
	if late {
		fmt.Fprintf(&b, "(The search was stopped after %s: name a folder further down in path.)\n", codeSearchTime)
	}
	if b.Len() > 0 && d.Symbols+d.Lines > 0 {
		if text := unread(l); text != "" {
			fmt.Fprintf(&b, "(%s)\n", text[1:])
		}
	}
	r := tool.Text(b.String())
	r.Title = heading("CodeSearch", in.Query)
	r.Details = toolapi.Details(d)
	return r
}

// texts returns the lines of the densest files, without definitions that are already shown.
func (s *codeSearch) texts() []codeHit {
	type spot struct {
		path string
		line int
	}
	shown := map[spot]bool{}
	for _, d := range s.defs {
		shown[spot{d.path, d.line}] = true
	}
	slices.SortStableFunc(s.files, func(a, b textFile) int { return cmp.Or(cmp.Compare(b.rank, a.rank), cmp.Compare(b.density, a.density)) })
	var texts []codeHit
	for _, f := range s.files {
		slices.SortFunc(f.lines, func(a, b codeHit) int { return a.line - b.line })
		for _, h := range f.lines {
			if !shown[spot{h.path, h.line}] {
				texts = append(texts, h)
			}
		}
	}
	return texts
}

// clip returns a line as it is shown in a list: one line, without the space around
// it, not too long.
func clip(line string) string {
	return text.Runes(oneLine(strings.TrimSpace(line)), maxHitText)
}
