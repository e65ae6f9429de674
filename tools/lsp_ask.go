package tools

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/lsp"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/internal/text"
)

const (
	// maxHierarchy is how many functions are asked about whose calls are wanted:
	// one name may stand for several.
	maxHierarchy = 5
	// maxHover is how many characters of a hover text are shown.
	maxHover = 10_000
	// newsTime is how long a server is waited for that reports of itself.
	newsTime = 20 * time.Second
	// maxPreview is the length in bytes of the diffs that a rename shows.
	maxPreview = 40_000
)

func (q *codeQuestion) definition(ctx context.Context, s *lsp.Server, a *codeAnswer) error {
	found, err := s.Definition(ctx, q.path, q.position(s))
	a.locations(found)
	return err
}

func (q *codeQuestion) implementation(ctx context.Context, s *lsp.Server, a *codeAnswer) error {
	found, err := s.Implementation(ctx, q.path, q.position(s))
	a.locations(found)
	return err
}

func (q *codeQuestion) references(ctx context.Context, s *lsp.Server, a *codeAnswer) error {
	found, err := s.References(ctx, q.path, q.position(s))
	sortLocations(found)
	a.locations(found)
	return err
}

func (q *codeQuestion) hover(ctx context.Context, s *lsp.Server, a *codeAnswer) error {
	secret, err := q.secret(ctx, s, a)
	if err != nil {
		return err
	}
	hover, err := s.Hover(ctx, q.path, q.position(s))
	if hover == "" {
		return err
	}
	if secret != "" {
		a.silence = secret
		return err
	}
	shown := text.Runes(hover, maxHover)
	a.more = a.more || shown != hover
	a.found++
	a.add(q.path, shown)
	return err
}

// secret returns the reason why a server's answer about a place may not be shown, "" if it
// may. The answer quotes the places where the name and its type are defined, and rules may
// forbid reading these.
func (q *codeQuestion) secret(ctx context.Context, s *lsp.Server, a *codeAnswer) (string, error) {
	if rules.UnreadableOf(q.call.Unreadable, q.call.Dir).Under(cmp.Or(q.station.root, q.top)) == nil {
		return "", nil
	}
	defined, err := q.targets(ctx, s.Definition, s)
	if err != nil {
		return "", err
	}
	types, err := q.targets(ctx, s.TypeDefinition, s)
	if err != nil {
		return "", err
	}
	for _, l := range append(types, defined...) {
		if _, err := lsp.Path(l.URI); err != nil || a.hidden(l.URI) {
			return "rules forbid reading the file that it is from", nil
		}
	}
	if len(defined) == 0 {
		return "rules forbid reading some files, and the server does not tell where it is from", nil
	}
	return "", nil
}

// targets asks where something is defined, for servers that may not know.
func (q *codeQuestion) targets(ctx context.Context, ask func(context.Context, string, lsp.Position) ([]lsp.Location, error), s *lsp.Server) ([]lsp.Location, error) {
	found, err := ask(ctx, q.path, q.position(s))
	var none *lsp.ResponseError // the answer of some servers for a place without a name
	if errors.Is(err, lsp.ErrUnsupported) || errors.As(err, &none) {
		return nil, nil
	}
	return found, err
}

func (q *codeQuestion) documentSymbols(ctx context.Context, s *lsp.Server, a *codeAnswer) error {
	found, err := s.DocumentSymbols(ctx, q.path)
	for _, f := range found {
		text := strings.Repeat("  ", min(f.Depth, 20)) + f.Kind + " " + clip(f.Name)
		if f.Detail != "" {
			text += " " + clip(f.Detail)
		}
		a.found++
		if a.room() {
			a.add(q.path, fmt.Sprintf("%d: %s", f.Location.Range.Start.Line+1, text))
		}
	}
	return err
}

func (q *codeQuestion) workspaceSymbols(ctx context.Context, s *lsp.Server, a *codeAnswer) error {
	found, err := s.WorkspaceSymbols(ctx, strings.TrimSpace(q.in.Query))
	for _, f := range found {
		text := f.Kind + " " + clip(f.Name)
		if f.Container != "" {
			text += " in " + clip(f.Container)
		}
		a.location(f.Location, text)
	}
	return err
}

func (q *codeQuestion) callers(ctx context.Context, s *lsp.Server, a *codeAnswer) error {
	items, err := s.PrepareCalls(ctx, q.path, q.position(s))
	for _, c := range items {
		a.location(c.Location, c.Kind+" "+clip(c.Name+" "+c.Detail))
	}
	return err
}

func (q *codeQuestion) incoming(ctx context.Context, s *lsp.Server, a *codeAnswer) error {
	return q.calls(ctx, s, a, s.Incoming, func(_ lsp.Caller, site lsp.CallSite) string { return site.Other.Location.URI })
}

func (q *codeQuestion) outgoing(ctx context.Context, s *lsp.Server, a *codeAnswer) error {
	return q.calls(ctx, s, a, s.Outgoing, func(of lsp.Caller, _ lsp.CallSite) string { return of.Location.URI })
}

// calls lists who calls, or is called, and the lines of the calls; where says in
// which document these are.
func (q *codeQuestion) calls(ctx context.Context, s *lsp.Server, a *codeAnswer,
	list func(context.Context, lsp.Caller) ([]lsp.CallSite, error), where func(of lsp.Caller, site lsp.CallSite) string) error {
	items, err := s.PrepareCalls(ctx, q.path, q.position(s))
	if err != nil {
		return err
	}
	if len(items) == 0 {
		return fmt.Errorf("%s: nothing that can be called stands there", a.server)
	}
	for _, of := range items[:min(len(items), maxHierarchy)] {
		sites, err := list(ctx, of)
		if err != nil {
			return err
		}
		for _, site := range sites {
			o := site.Other
			text := o.Kind + " " + clip(o.Name)
			if len(site.Calls) > 0 && !a.hidden(where(of, site)) {
				text += ", called at " + a.lines(where(of, site), site.Calls)
			}
			a.location(o.Location, text)
		}
	}
	return nil
}

func (q *codeQuestion) diagnostics(ctx context.Context, s *lsp.Server, a *codeAnswer) error {
	ctx, cancel := context.WithTimeoutCause(ctx, newsTime, fmt.Errorf("%s has not reported on %s in %s", a.server, q.path, newsTime))
	defer cancel()
	found, err := s.Diagnostics(ctx, q.path)
	sortDiagnostics(found)
	for _, d := range found {
		a.location(lsp.Location{URI: lsp.URI(q.path), Range: d.Range}, a.diagnosis(d))
	}
	return err
}

// diagnosis is a diagnostic in words. A message that is about a file which may not be
// read may quote it, and is left out.
func (a *codeAnswer) diagnosis(d lsp.Diagnostic) string {
	message := clipText(d.Message)
	for _, r := range d.Related {
		if a.hidden(r.Location.URI) {
			message = "the message is left out: a rule forbids reading a file that it is about"
		}
	}
	text := d.Severity.String() + ": " + message
	if d.Source != "" {
		text += " (" + clip(d.Source) + ")"
	}
	return text
}

func (q *codeQuestion) rename(ctx context.Context, s *lsp.Server, a *codeAnswer) error {
	files, err := s.Rename(ctx, q.path, q.position(s), strings.TrimSpace(q.in.NewName))
	if err != nil {
		return err
	}
	size := 0
	for _, f := range files {
		path, diff, err := a.preview(f)
		if err != nil {
			return err
		}
		if diff == "" { // a rule hides it
			continue
		}
		a.found += max(len(f.Edits), 1)
		if size += len(diff); size > maxPreview {
			a.more = true
			diff = fmt.Sprintf("%s: changed in %s; the diff is left out", a.show(path), text.Count(len(f.Edits), "place"))
		}
		a.shown += max(len(f.Edits), 1) - 1
		a.add(path, diff)
	}
	return nil
}
