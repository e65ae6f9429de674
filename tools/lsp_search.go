package tools

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/openagent-go/agent/internal/grep"
	"github.com/openagent-go/agent/internal/symbols"
	"github.com/openagent-go/agent/internal/walk"
	"github.com/openagent-go/agent/tool"
)

// searchTree calls search with the tree that a question without a server is
// answered from: the folder that its server would work in, or else the working directory.
func (q *codeQuestion) searchTree(ctx context.Context, search func(t *tree, l *walk.Listing) error) error {
	root := q.station.root
	switch {
	case root != "":
	case q.in.Operation == "workspaceSymbol" && q.path != "":
		root = q.path
	default:
		root = q.top
	}
	call := q.call
	t, err := openTree(ctx, q.languages.place, tool.Call{Dir: call.Dir, Unreadable: call.Unreadable}, root)
	if err != nil {
		return err
	}
	defer t.close()
	l, err := t.list(ctx, walk.Walk{})
	if err != nil {
		return err
	}
	return search(t, l)
}

func (q *codeQuestion) searchDefinition(ctx context.Context, a *codeAnswer) error {
	if q.word == "" {
		return nil
	}
	return q.searchSymbols(ctx, a, q.word, func(s *codeSearch, d symbols.Symbol) int {
		if d.Name == q.word {
			return 1
		}
		return 0
	})
}

func (q *codeQuestion) searchWorkspace(ctx context.Context, a *codeAnswer) error {
	return q.searchSymbols(ctx, a, strings.TrimSpace(q.in.Query), func(s *codeSearch, d symbols.Symbol) int { return s.rate(d.Name) })
}

func (q *codeQuestion) searchSymbols(ctx context.Context, a *codeAnswer, query string, rate func(*codeSearch, symbols.Symbol) int) error {
	return q.searchTree(ctx, func(t *tree, l *walk.Listing) error {
		s := newCodeSearch(query, t)
		if err := s.lines(ctx, l); err != nil {
			return err
		}
		if err := s.definitions(ctx, func(d symbols.Symbol) int { return rate(s, d) }); err != nil {
			return err
		}
		for _, h := range s.defs {
			if a.found++; a.room() {
				a.add(t.abs(h.path), fmt.Sprintf("%s:%d: %s %s: %s", a.show(t.abs(h.path)), h.line, h.kind, h.name, clip(h.text)))
			}
		}
		a.found = s.found
		return nil
	})
}

func (q *codeQuestion) searchReferences(ctx context.Context, a *codeAnswer) error {
	if q.word == "" {
		return nil
	}
	pattern, err := grep.Compile(`\b`+regexp.QuoteMeta(q.word)+`\b`, grep.Options{})
	if err != nil {
		return fmt.Errorf("searching for %q: %w", q.word, err)
	}
	return q.searchTree(ctx, func(t *tree, l *walk.Listing) error {
		var paths []string
		for _, f := range l.Files {
			if symbols.Of(f.Path) != nil {
				paths = append(paths, f.Path)
			}
		}
		s := grep.Search{Pattern: pattern, Want: grep.Lines, Max: maxBatchLines}
		return t.search(ctx, s, paths, func(path string, r grep.Report) bool {
			for _, line := range r.Lines {
				if a.found++; a.room() {
					a.add(t.abs(path), fmt.Sprintf("%s:%d: %s", a.show(t.abs(path)), line.Number, clip(line.Text)))
				}
			}
			return true
		})
	})
}

func (q *codeQuestion) searchDocument(ctx context.Context, a *codeAnswer) error {
	language := symbols.Of(q.path)
	if language == nil {
		return errors.New("documentSymbol needs a language server for this file, and none is known; use Read or Grep")
	}
	for _, d := range language.Scan([]byte(q.text), nil) {
		if a.found++; a.room() {
			a.add(q.path, fmt.Sprintf("%d: %s %s: %s", d.Line, d.Kind, d.Name, clip(d.Text)))
		}
	}
	return ctx.Err()
}
