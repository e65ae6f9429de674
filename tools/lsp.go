package tools

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/lsp"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

//go:embed lsp.md
var lspText string

// lspSchema is written out, because operation has a list of words.
const lspSchema = `{
	"type": "object",
	"properties": {
		"operation": {"type": "string", "enum": ["goToDefinition", "findReferences", "hover", "documentSymbol", "workspaceSymbol",
			"goToImplementation", "prepareCallHierarchy", "incomingCalls", "outgoingCalls", "diagnostics", "rename"]},
		"file_path": {"type": "string"},
		"line": {"type": "integer", "minimum": 1},
		"character": {"type": "integer", "minimum": 1},
		"query": {"type": "string"},
		"new_name": {"type": "string"}
	},
	"required": ["operation"],
	"additionalProperties": false
}`

const (
	// questionTime bounds a question, the start of a server included.
	questionTime = 90 * time.Second
	// maxName is the length in bytes of the longest query and new name.
	maxName = 200
)

type lspInput struct {
	Operation string `json:"operation"`
	FilePath  string `json:"file_path"`
	Line      int    `json:"line"`
	Character int    `json:"character"`
	Query     string `json:"query"`
	NewName   string `json:"new_name"`
}

// lspDetails are the Details of a result of LSP.
type lspDetails struct {
	Operation  string `json:"operation"`
	Server     string `json:"server,omitempty"` // absent where the text was searched
	Results    int    `json:"results"`          // shown
	Found      int    `json:"found"`
	Files      int    `json:"files"` // with results that are shown
	Truncated  bool   `json:"truncated"`
	TextSearch bool   `json:"textSearch"` // no server was asked
}

// LSP returns the tool that asks language servers about code. Its method
// EndSession(session string) error is that of languages.
func LSP(languages *Languages) tool.Tool {
	return lspTool{languages: languages, Typed: tool.New(tool.Spec{
		Name: "LSP", Title: "Ask a language server", Description: lspText, Input: json.RawMessage(lspSchema),
		ReadOnly: true, NonDestructive: true, Idempotent: true,
	}, func(ctx context.Context, call tool.Call, in lspInput) (*tool.Result, error) {
		return askLanguage(ctx, languages, call, in)
	}).OnClassify(func(call tool.Call, in lspInput) tool.Traits {
		name := in.FilePath
		if name == "" {
			name = "."
		}
		path, err := languages.place.Resolve(call.Dir, name)
		if err != nil {
			return tool.Traits{ReadOnly: true}
		}
		class := access(permission.ReadFile, path)
		if starts := languages.starts(path, in.FilePath); len(starts) > 0 {
			class.ReadOnly = false
			class.Confined = languages.confined()
			class.Access = append(class.Access, starts...)
		}
		return class
	})}
}

type lspTool struct {
	*tool.Typed[lspInput]
	languages *Languages
}

// EndSession ends the servers that no other session has asked.
func (t lspTool) EndSession(session string) error { return t.languages.EndSession(session) }

// A codeQuestion is a call of LSP that can be asked.
type codeQuestion struct {
	languages *Languages
	call      tool.Call
	in        lspInput
	top       string  // the working directory, without symlinks
	path      string  // the file, absolute and without symlinks; "" if none was given
	text      string  // its content
	station   station // the server for it
	word      string  // the name asked about, "" if there is none
}

// An operation describes a kind of question: how a server answers it, its inputs, and how
// to answer without a server (nil: not at all).
type operation struct {
	ask    func(q *codeQuestion, ctx context.Context, s *lsp.Server, a *codeAnswer) error
	search func(q *codeQuestion, ctx context.Context, a *codeAnswer) error
	place  bool // needs a line and a character
	file   bool // needs a file
}

// operations are made for each question: programs that do not ask any then need
// no client of language servers.
func operations() map[string]operation {
	return map[string]operation{
		"goToDefinition":       {ask: (*codeQuestion).definition, search: (*codeQuestion).searchDefinition, place: true, file: true},
		"goToImplementation":   {ask: (*codeQuestion).implementation, place: true, file: true},
		"findReferences":       {ask: (*codeQuestion).references, search: (*codeQuestion).searchReferences, place: true, file: true},
		"hover":                {ask: (*codeQuestion).hover, place: true, file: true},
		"documentSymbol":       {ask: (*codeQuestion).documentSymbols, search: (*codeQuestion).searchDocument, file: true},
		"workspaceSymbol":      {ask: (*codeQuestion).workspaceSymbols, search: (*codeQuestion).searchWorkspace},
		"prepareCallHierarchy": {ask: (*codeQuestion).callers, place: true, file: true},
		"incomingCalls":        {ask: (*codeQuestion).incoming, place: true, file: true},
		"outgoingCalls":        {ask: (*codeQuestion).outgoing, place: true, file: true},
		"diagnostics":          {ask: (*codeQuestion).diagnostics, file: true},
		"rename":               {ask: (*codeQuestion).rename, place: true, file: true},
	}
}

func askLanguage(ctx context.Context, languages *Languages, call tool.Call, in lspInput) (*tool.Result, error) {
	op := operations()[in.Operation]
	q := &codeQuestion{languages: languages, call: call, in: in}
	if problem := q.check(op); problem != "" {
		return tool.Errorf("%s", problem), nil
	}
	limited, cancel := context.WithTimeoutCause(ctx, questionTime, errTimedOut)
	defer cancel()
	a := newCodeAnswer(q)
	err := q.put(limited, op, a)
	var none *noServerError
	if errors.As(err, &none) && op.search != nil {
		a = newCodeAnswer(q)
		a.textSearch = none.text
		err = op.search(q, limited, a)
	}
	switch {
	case err == nil:
		return a.result(), nil
	case errors.As(err, &none):
		return tool.Errorf("%s needs a language server. %s", in.Operation, none.text), nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case context.Cause(limited) == errTimedOut:
		return tool.Errorf("The language server has not answered in %s.", questionTime), tool.ErrTimeout
	}
	return tool.Errorf("%v", err), nil
}

// check fills q in, and returns the mistake in the input, "" if there is none.
func (q *codeQuestion) check(op operation) (problem string) {
	in := &q.in
	var err error
	if q.top, err = q.languages.place.Resolve(q.call.Dir, "."); err != nil {
		return err.Error()
	}
	switch {
	case op.file && in.FilePath == "":
		return in.Operation + " needs file_path"
	case op.place && in.Line == 0:
		return in.Operation + " needs line, and character or query"
	case op.place && in.Character == 0 && in.Query == "":
		return in.Operation + " needs character, or in query the name on that line"
	case in.Operation == "workspaceSymbol" && strings.TrimSpace(in.Query) == "":
		return "workspaceSymbol needs query: the name to look for, or a part of it"
	case in.Operation == "rename" && strings.TrimSpace(in.NewName) == "":
		return "rename needs new_name"
	case len(in.Query) > maxName || len(in.NewName) > maxName:
		return fmt.Sprintf("query and new_name may have %d bytes at most", maxName)
	case in.FilePath == "":
		return ""
	}
	if problem := q.readFile(); problem != "" || !op.place {
		return problem
	}
	return q.findPlace()
}

// readFile reads the file asked about.
func (q *codeQuestion) readFile() (problem string) {
	place := q.languages.place
	path, err := place.Resolve(q.call.Dir, q.in.FilePath)
	if err != nil {
		return err.Error()
	}
	named := filepath.FromSlash(q.in.FilePath)
	if !filepath.IsAbs(named) {
		named = filepath.Join(q.call.Dir, named)
	}
	if q.call.Hides(path) || q.call.Hides(filepath.Clean(named)) {
		return path + " may not be read: a rule forbids it."
	}
	q.path = path
	if q.in.Operation == "workspaceSymbol" && q.languages.isFolder(path) {
		return ""
	}
	q.text, err = readSource(place, path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("%s does not exist.%s", path, suggestPath(context.Background(), place, q.call, path))
	case errors.Is(err, fs.ErrInvalid):
		return path + " is a folder; LSP is asked about files."
	case err != nil:
		return err.Error()
	}
	return ""
}

// findPlace checks line and character, and finds the name that stands there.
func (q *codeQuestion) findPlace() (problem string) {
	in := &q.in
	lines := splitLines(q.text)
	if in.Line > len(lines) {
		return fmt.Sprintf("%s has %s; there is no line %d", q.path, text.Count(len(lines), "line"), in.Line)
	}
	line := lines[in.Line-1]
	if in.Character == 0 {
		at := findWord(line, in.Query)
		if at < 0 {
			return fmt.Sprintf("%q is not in line %d of %s: %s", in.Query, in.Line, q.path, clip(line))
		}
		in.Character = utf8.RuneCountInString(line[:at]) + 1
	}
	if n := utf8.RuneCountInString(line); in.Character > n+1 {
		return fmt.Sprintf("line %d of %s has %d characters; there is no character %d: %s", in.Line, q.path, n, in.Character, clip(line))
	}
	q.word = wordAt(line, in.Character)
	return ""
}

// position returns the place asked about as s counts it.
func (q *codeQuestion) position(s *lsp.Server) lsp.Position {
	line := splitLines(q.text)[q.in.Line-1]
	return lsp.Position{Line: q.in.Line - 1, Character: s.Encoding().Units(line, q.in.Character-1)}
}

// put asks the server, or the servers, that can answer.
func (q *codeQuestion) put(ctx context.Context, op operation, a *codeAnswer) error {
	if q.in.Operation == "workspaceSymbol" && q.languages.isFolder(q.path) {
		return q.putAll(ctx, op, a)
	}
	var err error
	if q.station, err = q.languages.stationOf(q.path); err != nil {
		return err
	}
	return q.putTo(ctx, q.station, op, a)
}

func (q *codeQuestion) putTo(ctx context.Context, at station, op operation, a *codeAnswer) error {
	return q.languages.ask(ctx, q.call.Session, at, true, func(s *lsp.Server) error {
		a.begin(at.spec.Name, s.Encoding())
		file, text := q.path, q.text
		if q.in.Operation == "workspaceSymbol" && at.spec.language(file) == "" {
			file, text = q.languages.anyFile(ctx, at)
		}
		if file != "" {
			if err := s.Sync(ctx, file, at.spec.language(file), text); err != nil {
				return err
			}
		}
		err := op.ask(q, ctx, s, a)
		var failed *lsp.ResponseError
		if errors.As(err, &failed) {
			return fmt.Errorf("%s: %s", at.spec.Name, clipText(failed.Message))
		}
		return err
	})
}

// anyFile returns a file of a server and its content, "" if there is none: some servers
// look at nothing before a file is open. It chooses the most common language, since a
// single script may not belong to the program.
func (l *Languages) anyFile(ctx context.Context, at station) (path, text string) {
	files := map[string][]string{} // by language
	best := ""
	for _, path := range slices.Sorted(maps.Keys(l.watched(ctx, at))) {
		language := at.spec.language(path)
		if language == "" || slices.Contains(strings.Split(filepath.ToSlash(path), "/"), "node_modules") {
			continue
		}
		if files[language] = append(files[language], path); len(files[language]) > len(files[best]) {
			best = language
		}
	}
	for _, path := range files[best] {
		if text, err := readSource(l.place, path); err == nil {
			return path, text
		}
	}
	return "", ""
}

// putAll asks every server that is for the folder asked about. The reasons of
// those that could not answer count if none could.
func (q *codeQuestion) putAll(ctx context.Context, op operation, a *codeAnswer) error {
	dir := q.path
	if dir == "" {
		dir = q.top
	}
	var errs []error
	answered := false
	for _, at := range q.languages.stationsAt(dir) {
		one := newCodeAnswer(q)
		if err := q.putTo(ctx, at, op, one); err != nil {
			errs = append(errs, err)
			continue
		}
		answered = true
		a.join(one)
	}
	switch {
	case answered:
		return nil
	case len(errs) == 0:
		return &noServerError{"No language server is known for the files of " + dir + "."}
	}
	i := slices.IndexFunc(errs, func(err error) bool { var none *noServerError; return !errors.As(err, &none) })
	return errs[max(i, 0)]
}

// isFolder reports whether path is one; "" stands for the working directory.
func (l *Languages) isFolder(path string) bool {
	if path == "" {
		return true
	}
	root, _, err := toolapi.OpenRoot(l.place, "", path)
	if err != nil {
		return false
	}
	root.Close()
	return true
}
