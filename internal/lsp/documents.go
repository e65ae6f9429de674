package lsp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// maxOpen is how many documents are kept open; those used longest ago are closed.
	maxOpen = 16
	// maxDiagnostics is how many diagnostics of a document are kept.
	maxDiagnostics = 1000
	// settling is how long diagnostics are waited for after the last that came: servers
	// send those that are cheap to find first.
	settling = 300 * time.Millisecond
)

// documents are the files that a server was told the content of.
type documents struct {
	syncing sync.Mutex // held while changes are sent to the server, so that they arrive in order

	mu   sync.Mutex
	open map[string]*document // by URI
	uses int
}

type document struct {
	path, language, text string
	version              int
	used                 int // the higher, the later

	diagnostics []Diagnostic
	published   int           // the version that they are of
	news        chan struct{} // closed when diagnostics come
}

// A FileChange is the change of a file; the numbers are the protocol's.
type FileChange int

const (
	Created FileChange = 1
	Changed FileChange = 2
	Deleted FileChange = 3
)

// Refresh tells the server about the changes since the last question: files that have
// changed on disk, by path, and the content of the open documents, which read returns. A
// document whose file is gone is closed.
func (s *Server) Refresh(ctx context.Context, changes map[string]FileChange, read func(path string) (string, error)) error {
	d := &s.documents
	d.syncing.Lock()
	defer d.syncing.Unlock()
	d.mu.Lock()
	var paths []string
	for _, doc := range d.open {
		paths = append(paths, doc.path)
	}
	d.mu.Unlock()
	slices.Sort(paths)
	for _, path := range paths {
		text, err := read(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			err = s.closeDocument(ctx, URI(path))
		case err == nil:
			err = s.change(ctx, path, text, false)
		default: // an unreadable file counts as unchanged
			err = nil
		}
		if err != nil {
			return s.explain(err)
		}
	}
	if len(changes) == 0 {
		return nil
	}
	type event struct {
		URI  string     `json:"uri"`
		Type FileChange `json:"type"`
	}
	var events []event
	for _, path := range slices.Sorted(maps.Keys(changes)) {
		events = append(events, event{URI(path), changes[path]})
	}
	return s.explain(s.conn.notify(ctx, "workspace/didChangeWatchedFiles", map[string][]event{"changes": events}))
}

// Sync makes text the content of the document at path, which it opens if need be.
// language is the id that the protocol has for it.
func (s *Server) Sync(ctx context.Context, path, language, text string) error {
	d := &s.documents
	d.syncing.Lock()
	defer d.syncing.Unlock()
	uri := URI(path)
	d.mu.Lock()
	d.uses++
	doc := d.open[uri]
	if doc != nil {
		doc.used = d.uses
		d.mu.Unlock()
		return s.explain(s.change(ctx, path, text, false))
	}
	oldest := ""
	if len(d.open) >= maxOpen {
		oldest = slices.MinFunc(slices.Collect(maps.Keys(d.open)), func(a, b string) int { return cmp.Compare(d.open[a].used, d.open[b].used) })
	}
	d.open[uri] = &document{path: path, language: language, text: text, version: 1, used: d.uses, news: make(chan struct{})}
	d.mu.Unlock()
	if oldest != "" {
		if err := s.closeDocument(ctx, oldest); err != nil {
			return s.explain(err)
		}
	}
	err := s.conn.notify(ctx, "textDocument/didOpen", map[string]any{"textDocument": map[string]any{
		"uri": uri, "languageId": language, "version": 1, "text": text,
	}})
	if err != nil { // the server does not know of it
		d.mu.Lock()
		delete(d.open, uri)
		d.mu.Unlock()
	}
	return s.explain(err)
}

// change makes text the content of an open document. Unless it is to be touched,
// the server hears nothing if it has that content already.
func (s *Server) change(ctx context.Context, path, text string, touch bool) error {
	d := &s.documents
	uri := URI(path)
	d.mu.Lock()
	doc := d.open[uri]
	if doc == nil || doc.text == text && !touch {
		d.mu.Unlock()
		return nil
	}
	version := doc.version + 1
	d.mu.Unlock()
	err := s.conn.notify(ctx, "textDocument/didChange", map[string]any{
		"textDocument":   map[string]any{"uri": uri, "version": version},
		"contentChanges": []map[string]string{{"text": text}},
	})
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	doc.text, doc.version = text, version
	return nil
}

func (s *Server) closeDocument(ctx context.Context, uri string) error {
	d := &s.documents
	d.mu.Lock()
	delete(d.open, uri)
	d.mu.Unlock()
	return s.conn.notify(ctx, "textDocument/didClose", map[string]any{"textDocument": map[string]string{"uri": uri}})
}

// A Severity says how bad a diagnostic is.
type Severity int

const (
	Error       Severity = 1
	Warning     Severity = 2
	Information Severity = 3
	Hint        Severity = 4
)

func (s Severity) String() string {
	switch s {
	case Warning:
		return "warning"
	case Information:
		return "information"
	case Hint:
		return "hint"
	}
	return "error"
}

// A Diagnostic is a server's message about a range of a document.
type Diagnostic struct {
	Range    Range    `json:"range"`
	Severity Severity `json:"severity"` // 0: an error, as the server does not say
	Message  string   `json:"message"`
	Source   string   `json:"source"`
	// Related are other places that the message is about.
	Related []struct {
		Location Location `json:"location"`
	} `json:"relatedInformation"`
}

// published takes diagnostics of an open document; others are passed over.
func (d *documents) published(params json.RawMessage) {
	var p struct {
		URI         string       `json:"uri"`
		Version     *int         `json:"version"`
		Diagnostics []Diagnostic `json:"diagnostics"`
	}
	if json.Unmarshal(params, &p) != nil {
		return
	}
	path, err := Path(p.URI)
	if err != nil {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	doc := d.open[URI(path)] // servers escape other characters than we do
	if doc == nil {
		return
	}
	doc.published = doc.version
	if p.Version != nil {
		doc.published = *p.Version
	}
	doc.diagnostics = p.Diagnostics[:min(len(p.Diagnostics), maxDiagnostics)]
	close(doc.news)
	doc.news = make(chan struct{})
}

// Diagnostics returns the server's messages about the document at path, which must be open.
// A server that does not answer questions about them sends them by itself; then Diagnostics
// waits until the server is silent for a moment or ctx ends.
func (s *Server) Diagnostics(ctx context.Context, path string) ([]Diagnostic, error) {
	if s.capabilities.Diagnostic {
		var report struct {
			Items []Diagnostic `json:"items"`
		}
		params := map[string]any{"textDocument": map[string]string{"uri": URI(path)}}
		err := s.ask(ctx, "textDocument/diagnostic", params, &report, nil)
		return report.Items[:min(len(report.Items), maxDiagnostics)], err
	}
	version, err := s.touch(ctx, path)
	if err != nil {
		return nil, s.explain(err)
	}
	var found []Diagnostic
	known := false
	quiet := time.NewTimer(settling)
	defer quiet.Stop()
	for {
		news, diagnostics, fresh, err := s.documents.news(path, version)
		if err != nil {
			return nil, err
		}
		if fresh {
			found, known = diagnostics, true
			quiet.Reset(settling)
		}
		var silence <-chan time.Time
		if known {
			silence = quiet.C
		}
		select {
		case <-news:
		case <-silence:
			return found, nil
		case <-s.conn.ended:
			return nil, s.Err()
		case <-ctx.Done():
			if known {
				return found, nil
			}
			return nil, context.Cause(ctx)
		}
	}
}

// touch makes the server look at a document again, since its diagnostics may depend on
// others that changed. It returns the version that the server looks at.
func (s *Server) touch(ctx context.Context, path string) (version int, err error) {
	d := &s.documents
	d.syncing.Lock()
	defer d.syncing.Unlock()
	d.mu.Lock()
	doc := d.open[URI(path)]
	d.mu.Unlock()
	if doc == nil {
		return 0, errNotOpen
	}
	if err := s.change(ctx, path, doc.text, true); err != nil {
		return 0, err
	}
	return doc.version, nil
}

var errNotOpen = errors.New("the document is not open")

// news returns a channel that is closed when diagnostics of a document come, and the
// present ones, fresh if they are of version or later.
func (d *documents) news(path string, version int) (news <-chan struct{}, found []Diagnostic, fresh bool, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	doc := d.open[URI(path)]
	if doc == nil {
		return nil, nil, false, errNotOpen
	}
	return doc.news, doc.diagnostics, doc.published >= version, nil
}
