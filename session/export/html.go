package export

import (
	"bufio"
	"context"
	_ "embed"
	"html/template"
	"io"
	"math"
	"time"

	"github.com/openagent-go/agent/internal/htmlpage"
	"github.com/openagent-go/agent/internal/sessionhtml"
	"github.com/openagent-go/agent/internal/turns"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
)

//go:embed page.css
var pageStyle string

var style = pageStyle + sessionhtml.Style

//go:embed page.tmpl
var pageText string

// pages has no script, and its policy lets a browser neither run one nor load
// anything: styles only the one in the page, images only those in its text.
var pages *template.Template

func init() { // not above: its functions write pages
	pages = template.Must(template.New("page").Funcs(template.FuncMap{
		"clock": turns.Clock, "iso": func(t time.Time) string { return t.Format(time.RFC3339) },
	}).Parse(pageText))
}

// HTML writes a session as one page: calls of tools folded, diffs coloured, images
// in the page, light or dark as the reader's system is. It has no script, loads
// nothing, and opens from a file. It fails as reading the session does.
func HTML(ctx context.Context, w io.Writer, s session.Store, id string, o Options) error {
	info, v, r, err := open(ctx, s, id, o)
	if err != nil {
		return exporting(id, err)
	}
	b := bufio.NewWriter(w)
	outline, _ := r.Outline(v.Items, math.MaxInt)
	b.WriteString(htmlpage.Begin(heading(info), style))
	err = pages.ExecuteTemplate(b, "about", struct {
		session.Info
		Heading string
		Totals  []string
		Outline []turns.Entry
		Todos   []view.Todo
	}{info, heading(info), turns.Totals(v), outline, r.Todos(v)})
	if err != nil {
		return exporting(id, err)
	}
	for t := range r.Turns(id, v.Items) {
		if err := ctx.Err(); err != nil {
			return exporting(id, err)
		}
		if err := sessionhtml.Write(b, t); err != nil {
			return exporting(id, err)
		}
	}
	b.WriteString(htmlpage.End)
	return exporting(id, b.Flush())
}
