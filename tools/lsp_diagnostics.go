package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/lsp"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

const (
	// diagnosisTime is how long the result of a change waits for a server.
	diagnosisTime = 2 * time.Second
	// maxDiagnosed is how many changed files are asked about.
	maxDiagnosed = 10
	// maxErrors is how many errors are shown with a change.
	maxErrors = 20
)

// WithDiagnostics returns t, a tool that changes files, with a result that also lists the
// errors that language servers find in the changed files. Only servers that a call of LSP
// has started are asked: permission to change a file is not permission to run a program. It
// waits at most 2 seconds for a server, and without errors it adds nothing. t's Classify
// tells which files a call changes.
func WithDiagnostics(t tool.Tool, languages *Languages) tool.Tool {
	return diagnosed{t, languages}
}

// diagnosed is a Tool with everything that the Tool in it may be besides, but
// for the method Make.
type diagnosed struct {
	tool.Tool
	languages *Languages
}

func (d diagnosed) Classify(call tool.Call) tool.Traits { return toolrun.Classify(d.Tool, call) }

func (d diagnosed) Preview(call tool.Call) string {
	if p, ok := d.Tool.(tool.Previewer); ok {
		return p.Preview(call)
	}
	return ""
}

func (d diagnosed) TakesPartial() bool {
	p, ok := d.Tool.(toolrun.Partial)
	return ok && p.TakesPartial()
}

func (d diagnosed) Partial(ctx context.Context, input json.RawMessage) {
	if p, ok := d.Tool.(toolrun.Partial); ok {
		p.Partial(ctx, input)
	}
}

// EndSession ends the servers of a session.
func (d diagnosed) EndSession(session string) error {
	err := d.languages.EndSession(session)
	if e, ok := d.Tool.(interface{ EndSession(string) error }); ok {
		if inner := e.EndSession(session); err == nil {
			err = inner
		}
	}
	return err
}

func (d diagnosed) Run(ctx context.Context, call tool.Call) (*tool.Result, error) {
	r, err := d.Tool.Run(ctx, call)
	if err != nil || r == nil || r.IsError {
		return r, err
	}
	var paths []string
	for _, a := range d.Classify(call).Access {
		if a.Kind == permission.EditFile && !slices.Contains(paths, a.Target) && len(paths) < maxDiagnosed {
			paths = append(paths, a.Target)
		}
	}
	text := d.languages.errors(ctx, call, paths)
	if text == "" {
		return r, nil
	}
	more := *r
	more.Content = append(slices.Clip(slices.Clone(r.Content)), tool.Text("\n\n"+text).Content...)
	return &more, nil
}

// errors returns the errors in files, in words; "" if there are none, or no server answered
// in time.
func (l *Languages) errors(ctx context.Context, call tool.Call, paths []string) string {
	ctx, cancel := context.WithTimeout(ctx, diagnosisTime)
	defer cancel()
	found := 0
	var b strings.Builder
	for _, path := range paths {
		q := &codeQuestion{languages: l, call: call, path: path}
		var err error
		if q.station, err = l.stationOf(path); err != nil {
			continue
		}
		if q.text, err = readSource(l.place, path); err != nil {
			continue // it is deleted
		}
		q.top, _ = l.place.Resolve(call.Dir, ".") // else paths are absolute
		a := newCodeAnswer(q)
		var list []lsp.Diagnostic
		err = l.ask(ctx, call.Session, q.station, false, func(s *lsp.Server) error {
			a.begin(q.station.spec.Name, s.Encoding())
			if err := s.Sync(ctx, path, q.station.spec.language(path), q.text); err != nil {
				return err
			}
			var err error
			list, err = s.Diagnostics(ctx, path)
			return err
		})
		if err != nil {
			continue // the change was made all the same
		}
		sortDiagnostics(list)
		for _, d := range list {
			if d.Severity != lsp.Error {
				break
			}
			if found++; found <= maxErrors {
				a.location(lsp.Location{URI: lsp.URI(path), Range: d.Range}, a.diagnosis(d))
			}
		}
		b.WriteString(a.text.String())
	}
	if found == 0 {
		return ""
	}
	note := ""
	if found > maxErrors {
		note = fmt.Sprintf("(%d of %d errors are shown.)\n", maxErrors, found)
	}
	return "After this change the language server reports errors:\n" + b.String() + note
}

var (
	_ tool.Previewer  = diagnosed{}
	_ tool.Classifier = diagnosed{}
	_ toolrun.Partial = diagnosed{}
)
