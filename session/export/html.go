package export

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/markdown"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/session/view"
)

//go:embed page.css
var style string

//go:embed page.tmpl
var pageText string

// pages has no script, and its policy lets a browser neither run one nor load
// anything: styles only the one in the page, images only those in its text.
var pages *template.Template

func init() { // not above: its functions write pages
	pages = template.Must(template.New("page").Funcs(template.FuncMap{
		"clock": clock, "iso": func(t time.Time) string { return t.Format(time.RFC3339) }, "state": state, "byProgram": byProgram, "diff": diffLines,
		"prose": prose, "parts": parts, "isDiff": isDiff, "turn": written, "took": took,
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
	sum := sha256.Sum256([]byte(style))
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, head, base64.StdEncoding.EncodeToString(sum[:]), template.HTMLEscapeString(heading(info)), style)
	err = pages.ExecuteTemplate(b, "about", struct {
		session.Info
		Heading string
		Totals  []string
		Outline []entry
		Todos   []view.Todo
	}{info, heading(info), totals(v), r.outline(v), r.todos(v)})
	if err != nil {
		return exporting(id, err)
	}
	for t := range r.turns(id, v) {
		if err := ctx.Err(); err != nil {
			return exporting(id, err)
		}
		if err := writeTurn(b, t); err != nil {
			return exporting(id, err)
		}
	}
	b.WriteString("</main>\n</body>\n</html>\n")
	return exporting(id, b.Flush())
}

const head = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'sha256-%s'; img-src data:; base-uri 'none'; form-action 'none'">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="data:,">
<title>%s</title>
<style>%s</style>
</head>
<body>
<main>
`

// writeTurn writes a turn as HTML.
func writeTurn(w io.Writer, t turn) error {
	name := ""
	switch t.(type) {
	case said:
		name = "said"
	case *answer:
		name = "answer"
	case runEnd:
		name = "end"
	case note:
		name = "note"
	case agent:
		name = "agent"
	}
	return pages.ExecuteTemplate(w, name, t)
}

// written is a turn as HTML.
func written(t turn) (template.HTML, error) {
	var b strings.Builder
	err := writeTurn(&b, t)
	return template.HTML(b.String()), err
}

// took is how a command ended and how long a call lasted, "" if it did not run.
func took(c call) string {
	var parts []string
	if c.Exit != 0 {
		parts = append(parts, fmt.Sprintf("exit %d", c.Exit))
	}
	if c.Result != nil && c.Result.DurationMS > 0 {
		parts = append(parts, span(time.Duration(c.Result.DurationMS)*time.Millisecond))
	}
	return strings.Join(parts, " · ")
}

// An entry is a line of the outline: a prompt.
type entry struct {
	Seq  int64
	Text string
}

// outline lists the prompts of a view, if there is more than one.
func (r *reader) outline(v *view.State) []entry {
	var list []entry
	for _, it := range v.Items {
		if p, ok := it.Data.(*view.Prompt); ok && p.Delivered && p.FromUser() {
			line := text.Runes(r.line(p.Message.Message.Text()), 100)
			if line == "" {
				line = "(no text)"
			}
			list = append(list, entry{it.Seq, line})
		}
	}
	if len(list) < 2 {
		return nil
	}
	return list
}

// todos returns the list of steps, without secrets.
func (r *reader) todos(v *view.State) []view.Todo {
	list := slices.Clone(v.Todos)
	for i := range list {
		list[i].Text, list[i].Status = r.line(list[i].Text), r.line(list[i].Status)
	}
	return list
}

// prose returns Markdown as HTML. Its headings are below those of the page.
func prose(s string) template.HTML {
	blocks := markdown.Parse(s)
	for i, b := range blocks {
		if h, ok := b.(markdown.Heading); ok {
			h.Level += 2
			blocks[i] = h
		}
	}
	return template.HTML(markdown.AppendHTML(nil, blocks))
}

// A part is a block as the page shows it: one field is set.
type part struct {
	Text, Thinking, Code string
	Image                template.URL
	Name                 string // of a document
}

// shown are the images that browsers show and that can hold no script.
var shown = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// parts returns blocks as the page shows them.
func parts(blocks llm.Blocks) []part {
	var list []part
	for _, b := range blocks {
		switch b := b.(type) {
		case llm.Text:
			list = append(list, part{Text: b.Text})
		case llm.Thinking:
			list = append(list, part{Thinking: b.Text})
		case llm.Image:
			if slices.Contains(shown, b.MediaType) {
				list = append(list, part{Image: template.URL("data:" + b.MediaType + ";base64," + base64.StdEncoding.EncodeToString(b.Data))})
			} else {
				list = append(list, part{Name: fmt.Sprintf("image, %d bytes", len(b.Data))})
			}
		case llm.Document:
			p := part{Name: fmt.Sprintf("%s (%s, %d bytes)", b.Title, b.MediaType, len(b.Data))}
			if strings.HasPrefix(b.MediaType, "text/") {
				p.Code = string(b.Data)
			}
			list = append(list, p)
		}
	}
	return list
}

// indent writes JSON for people.
func indent(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, raw, "", "  ") != nil {
		return string(raw)
	}
	return b.String()
}

// A coloured line of a diff.
type coloured struct{ Class, Text string }

// diffLines tells the lines of a unified diff apart. Lines of one kind that follow
// each other come together.
func diffLines(diff string) []coloured {
	var list []coloured
	for text := range strings.Lines(diff) {
		class := "same"
		switch {
		case strings.HasPrefix(text, "+++"), strings.HasPrefix(text, "---"):
			class = "file"
		case strings.HasPrefix(text, "+"):
			class = "add"
		case strings.HasPrefix(text, "-"):
			class = "del"
		case strings.HasPrefix(text, "@@"):
			class = "hunk"
		}
		if n := len(list); n > 0 && list[n-1].Class == class {
			list[n-1].Text += text
		} else {
			list = append(list, coloured{class, text})
		}
	}
	return list
}

// isDiff reports whether text is a unified diff.
func isDiff(text string) bool {
	return strings.HasPrefix(text, "--- ") && strings.Contains(text, "\n+++ ") && strings.Contains(text, "\n@@") || strings.HasPrefix(text, "diff --git ")
}
