// Package sessionhtml draws the turns of a session as HTML. The export and the live pages use it, so
// they show the same.
//
//	err := sessionhtml.Write(w, turn)
//
// The HTML has no scripts and loads nothing: images are in it. Style has the rules that it needs.
package sessionhtml

import (
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/internal/markdown"
	"github.com/openagent-go/agent/internal/turns"
	"github.com/openagent-go/agent/llm"
)

// Style is the style sheet of turns. It uses the colours --back, --text, --dim, --line, --user, --code,
// --link, --add, --del, --bad and --good of the page.
//
//go:embed turn.css
var Style string

//go:embed turn.tmpl
var turnText string

var templates *template.Template

func init() { // not above: its functions write turns
	templates = template.Must(template.New("").Funcs(template.FuncMap{
		"clock": turns.Clock, "iso": func(t time.Time) string { return t.Format(time.RFC3339) }, "byProgram": turns.ByProgram, "diff": diffLines,
		"prose": prose, "parts": parts, "isDiff": turns.IsDiff, "turn": HTML,
	}).Parse(turnText))
}

// Write writes a turn as HTML.
func Write(w io.Writer, t turns.Turn) error {
	name := ""
	switch t.(type) {
	case turns.Said:
		name = "said"
	case *turns.Answer:
		name = "answer"
	case turns.End:
		name = "end"
	case turns.Note:
		name = "note"
	case turns.Agent:
		name = "agent"
	}
	return templates.ExecuteTemplate(w, name, t)
}

// HTML returns a turn as HTML.
func HTML(t turns.Turn) (template.HTML, error) {
	var b strings.Builder
	err := Write(&b, t)
	return template.HTML(b.String()), err
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

// Code returns a text as a block of code: a diff in colours.
func Code(text string) template.HTML {
	var b strings.Builder
	if err := templates.ExecuteTemplate(&b, "code", text); err != nil {
		return template.HTML(template.HTMLEscapeString(text))
	}
	return template.HTML(b.String())
}
