package tools

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/lsp"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/tool"
)

const (
	// maxAnswers is how many results of a question are shown.
	maxAnswers = 200
	// maxCallLines is how many lines of calls are listed for one function.
	maxCallLines = 20
	// maxShownBytes bounds the bytes read of files to show the lines of results.
	maxShownBytes = 32 << 20
	// maxMessage is how many characters of a server's message are shown.
	maxMessage = 1000
)

// A codeAnswer is the answer to a question while it is put together.
type codeAnswer struct {
	q          *codeQuestion
	server     string // the servers that answered
	encoding   lsp.Encoding
	textSearch string // why the text was searched, "" if it was not
	silence    string // why the one thing that was found is not shown, "" if it is

	text   strings.Builder
	shown  int
	found  int
	unread int             // results in files that may not be read
	more   bool            // than is shown
	files  map[string]bool // shown
	read   int             // bytes
	cache  map[string][]string
}

func newCodeAnswer(q *codeQuestion) *codeAnswer {
	return &codeAnswer{q: q, files: map[string]bool{}, cache: map[string][]string{}}
}

// begin makes a empty, for a server may be asked again.
func (a *codeAnswer) begin(server string, e lsp.Encoding) {
	*a = *newCodeAnswer(a.q)
	a.server, a.encoding = server, e
}

// join adds the answer of another server.
func (a *codeAnswer) join(o *codeAnswer) {
	if a.server != "" {
		a.server += ", "
	}
	a.server += o.server
	a.text.WriteString(o.text.String())
	a.shown += o.shown
	a.found += o.found
	a.unread += o.unread
	a.more = a.more || o.more
	for f := range o.files {
		a.files[f] = true
	}
}

// room reports whether one result more is shown.
func (a *codeAnswer) room() bool {
	if a.shown >= maxAnswers {
		a.more = true
		return false
	}
	return true
}

// add shows a result that is in the file at path.
func (a *codeAnswer) add(path, text string) {
	a.text.WriteString(strings.TrimRight(text, "\n") + "\n")
	a.files[path] = true
	a.shown++
}

func (a *codeAnswer) locations(list []lsp.Location) {
	for _, l := range list {
		a.location(l, "")
	}
}

// location shows a place with a text, its line if that is "".
func (a *codeAnswer) location(l lsp.Location, text string) {
	path, err := lsp.Path(l.URI)
	if err != nil { // of a server's own making
		path = clip(l.URI)
	}
	if err == nil && a.hidden(l.URI) {
		a.unread++
		return
	}
	a.found++
	if !a.room() {
		return
	}
	number := max(l.Range.Start.Line, 0)
	column := max(l.Range.Start.Character, 0) + 1
	if err == nil {
		if line, ok := a.line(path, number); ok {
			column = utf8.RuneCountInString(line[:a.encoding.Offset(line, column-1)]) + 1
			if text == "" {
				text = clip(line)
			}
		}
	}
	if text != "" {
		text = ": " + text
	}
	a.add(path, fmt.Sprintf("%s:%d:%d%s", a.show(path), number+1, column, text))
}

// hidden reports whether rules forbid showing the document.
func (a *codeAnswer) hidden(uri string) bool {
	path, err := lsp.Path(uri)
	if err != nil {
		return false
	}
	if a.q.call.Hides(path) {
		return true
	}
	real, err := a.q.languages.place.Resolve("", path)
	return err == nil && a.q.call.Hides(real)
}

// show returns path relative to the working directory if it lies in it.
func (a *codeAnswer) show(path string) string {
	if rel, err := filepath.Rel(a.q.top, path); err == nil && filepath.IsLocal(rel) {
		path = rel
	}
	return oneLine(path)
}

// line returns a line, from 0, of the file at path, if that may be read.
func (a *codeAnswer) line(path string, number int) (string, bool) {
	lines, ok := a.cache[path]
	if !ok {
		if path == a.q.path && a.q.text != "" {
			lines = splitLines(a.q.text)
		} else if a.read < maxShownBytes {
			if text, err := readSource(a.q.languages.place, path); err == nil { // else it is outside, or gone
				a.read += len(text)
				lines = splitLines(text)
			}
		}
		a.cache[path] = lines
	}
	if number >= len(lines) {
		return "", false
	}
	return lines[number], true
}

// lines lists the lines of ranges.
func (a *codeAnswer) lines(uri string, ranges []lsp.Range) string {
	var numbers []int
	for _, r := range ranges {
		numbers = append(numbers, max(r.Start.Line, 0)+1)
	}
	slices.Sort(numbers)
	numbers = slices.Compact(numbers)
	cut := ""
	if len(numbers) > maxCallLines {
		numbers, cut = numbers[:maxCallLines], ", …"
	}
	var texts []string
	for _, n := range numbers {
		texts = append(texts, strconv.Itoa(n))
	}
	name := uri
	if path, err := lsp.Path(uri); err == nil {
		name = a.show(path)
	}
	return oneLine(name) + ":" + strings.Join(texts, ", ") + cut
}

// preview returns the effect of an edit on a file: a unified diff, or words if the file
// cannot be read; "" if a rule hides it.
func (a *codeAnswer) preview(f lsp.FileEdit) (path, diff string, err error) {
	if path, err = lsp.Path(f.URI); err != nil {
		return "", "", err
	}
	if a.hidden(f.URI) {
		a.unread += max(len(f.Edits), 1)
		return path, "", nil
	}
	if f.Other != "" {
		return path, a.show(path) + ": " + clip(f.Other), nil
	}
	old, err := readSource(a.q.languages.place, path)
	if err != nil { // outside, or too large
		return path, fmt.Sprintf("%s: changed in %s; it cannot be shown", a.show(path), text.Count(len(f.Edits), "place")), nil
	}
	text, err := a.encoding.Apply(old, f.Edits)
	if err != nil {
		return path, "", fmt.Errorf("renaming in %s: %w", path, err)
	}
	return path, compare(a.show(path), false, old, text, nil).Diff, nil
}

// result is the answer as the model reads it.
func (a *codeAnswer) result() *tool.Result {
	var b strings.Builder
	if a.textSearch != "" {
		b.WriteString(a.textSearch + " This is a search of the text, which knows neither scopes nor types:\n")
	}
	if a.silence != "" {
		fmt.Fprintf(&b, "What %s says is left out: %s.\n", a.server, a.silence)
	} else if a.shown == 0 {
		b.WriteString(a.nothing() + "\n")
	} else if a.q.in.Operation == "rename" {
		fmt.Fprintf(&b, "The change in %s of %s; nothing has been changed yet:\n", text.Count(a.found, "place"), text.Count(len(a.files), "file"))
	}
	b.WriteString(a.text.String())
	if a.more && a.q.in.Operation != "hover" {
		fmt.Fprintf(&b, "(%d of %d results are shown.)\n", a.shown, a.found)
	}
	if a.unread > 0 {
		fmt.Fprintf(&b, "(%s left out: rules forbid reading the files.)\n", were(a.unread, "result", "results"))
	}
	title := a.q.word
	if title == "" {
		title = cmp.Or(a.q.in.Query, filepath.Base(a.q.path))
	}
	r := tool.Text(b.String())
	r.Title = heading(a.q.in.Operation, title)
	r.Details = toolapi.Details(lspDetails{Operation: a.q.in.Operation, Server: a.server, Results: a.shown, Found: a.found, Files: len(a.files),
		Truncated: a.more, TextSearch: a.textSearch != ""})
	return r
}

// nothing returns the text for an empty result.
func (a *codeAnswer) nothing() string {
	what := "Nothing was found"
	switch a.q.in.Operation {
	case "diagnostics":
		return fmt.Sprintf("%s has nothing to report about %s.", a.server, a.show(a.q.path))
	case "hover":
		what = a.server + " has nothing to say"
	}
	switch {
	case a.q.word != "":
		return fmt.Sprintf("%s for %q.", what, a.q.word)
	case a.q.in.Line > 0:
		return fmt.Sprintf("%s: there is no name at line %d, character %d. Give the position of a name's first character, or the name as query.", what, a.q.in.Line, a.q.in.Character)
	case a.q.in.Query != "":
		return fmt.Sprintf("%s for %q.", what, a.q.in.Query)
	}
	return fmt.Sprintf("%s in %s.", what, a.show(a.q.path))
}

func sortLocations(list []lsp.Location) {
	slices.SortFunc(list, func(a, b lsp.Location) int {
		return cmp.Or(cmp.Compare(a.URI, b.URI), comparePositions(a.Range.Start, b.Range.Start))
	})
}

// sortDiagnostics puts the worst first.
func sortDiagnostics(list []lsp.Diagnostic) {
	for i := range list {
		list[i].Severity = cmp.Or(list[i].Severity, lsp.Error)
	}
	slices.SortStableFunc(list, func(a, b lsp.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), comparePositions(a.Range.Start, b.Range.Start))
	})
}

func comparePositions(a, b lsp.Position) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Character, b.Character))
}

// splitLines returns the lines of text without their ends.
func splitLines(text string) []string {
	lines := strings.Split(text, "\n")
	if len(lines) > 1 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for i, l := range lines {
		lines[i] = strings.TrimSuffix(l, "\r")
	}
	return lines
}

func isNameRune(r rune) bool {
	return r == '_' || r == '$' || unicode.IsLetter(r) || unicode.IsDigit(r)
}

// wordAt returns the name at a character, from 1, of line, or right before it.
func wordAt(line string, character int) string {
	runes := []rune(line)
	at := min(character-1, len(runes))
	if (at == len(runes) || !isNameRune(runes[at])) && at > 0 {
		at--
	}
	start, end := at, at
	for start > 0 && isNameRune(runes[start-1]) && isNameRune(runes[at]) {
		start--
	}
	for end < len(runes) && isNameRune(runes[end]) {
		end++
	}
	if start >= end {
		return ""
	}
	return string(runes[start:end])
}

// findWord returns where name begins in line as a whole word, else where it
// begins at all, else -1.
func findWord(line, name string) int {
	for from := 0; from <= len(line); {
		i := strings.Index(line[from:], name)
		if i < 0 {
			break
		}
		start := from + i
		before, _ := utf8.DecodeLastRuneInString(line[:start])
		after, _ := utf8.DecodeRuneInString(line[start+len(name):])
		if !isNameRune(before) && !isNameRune(after) {
			return start
		}
		_, size := utf8.DecodeRuneInString(line[start:])
		from = start + max(size, 1)
	}
	return strings.Index(line, name)
}

// clipText returns a message of several lines as it is shown.
func clipText(s string) string {
	s = strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == '\n' || r == '\r' }), "\n  ")
	return text.Runes(s, maxMessage)
}
