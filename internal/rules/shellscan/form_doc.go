package shellscan

import (
	"bytes"
	"regexp"
	"strings"

	"github.com/openagent-go/agent/internal/rules/shellword"
	"mvdan.cc/sh/v3/syntax"
)

// Here-documents. Their forms are documents with a delimiter that cannot be mistaken, or,
// in substitutions, whose ends old shells look for without knowing of documents, strings.

// A formDoc is a document whose text is still to be written.
type formDoc struct {
	begun     int // where the output was when the document was asked for
	body, end string
}

var plainDelimiter = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// delimiter returns the delimiter of a document and whether it is quoted.
func delimiter(x *syntax.Word) (text string, quoted, ok bool) {
	if len(x.Parts) != 1 {
		return "", false, false
	}
	switch p := x.Parts[0].(type) {
	case *syntax.Lit:
		text, quoted = strings.CutPrefix(p.Value, `\`)
	case *syntax.SglQuoted:
		text, quoted = p.Value, !p.Dollar
		if p.Dollar {
			return "", false, false
		}
	case *syntax.DblQuoted:
		lit := &syntax.Word{Parts: p.Parts}
		text, quoted = lit.Lit(), true
		if p.Dollar {
			return "", false, false
		}
	}
	return text, quoted, plainDelimiter.MatchString(text)
}

func (w *formWriter) document(r *syntax.Redirect) {
	name, quoted, ok := delimiter(r.Word)
	if !ok {
		w.refuse("a here-document ends in an unusual way")
		return
	}
	var parts []syntax.WordPart
	if r.Hdoc != nil {
		parts = r.Hdoc.Parts
	}
	tabs := r.Op == syntax.DashHdoc
	text, literal := documentBody(parts, quoted, tabs)
	if strings.HasPrefix(text, name+"\n") || strings.Contains(text, "\n"+name+"\n") || !strings.HasSuffix(text, "\n") && text != "" {
		w.refuse("where a here-document ends can be read in two ways")
		return
	}
	if w.sub {
		w.documentString(parts, text, literal, tabs)
		return
	}
	doc := formDoc{body: text}
	if !literal {
		inner := formWriter{line: 1, quoted: true, sub: true, flat: true}
		inner.documentParts(parts, tabs, documentEscapes)
		if doc.body = string(inner.out); inner.odd != "" {
			w.refuse(inner.odd)
		}
		w.bash = w.bash || inner.bash
	}
	for strings.HasPrefix(doc.body, name+"\n") || strings.Contains(doc.body, "\n"+name+"\n") {
		name += "_"
	}
	doc.end = name
	if literal {
		w.text("<<'" + name + "'")
	} else {
		w.text("<<" + name)
	}
	doc.begun = len(w.out)
	w.docs = append(w.docs, doc)
}

// documentString writes a document as a string.
func (w *formWriter) documentString(parts []syntax.WordPart, text string, literal, tabs bool) {
	switch {
	case text == "":
		w.text("</dev/null")
	case literal:
		w.bash = true
		w.text("<<<")
		w.quote(strings.TrimSuffix(text, "\n"))
	default:
		w.bash = true
		w.text(`<<<"`)
		at := len(w.out)
		w.documentParts(parts, tabs, quotedEscapes)
		w.out = append(w.out[:at], strings.TrimSuffix(string(w.out[at:]), "\n")...)
		w.line--
		w.text(`"`)
	}
}

// documentParts writes the parts of a document that is expanded.
func (w *formWriter) documentParts(parts []syntax.WordPart, tabs bool, escapes *strings.Replacer) {
	trim := trimmer(tabs)
	was := w.quoted
	w.quoted = true
	for i, p := range parts {
		if lit, ok := p.(*syntax.Lit); ok {
			w.text(escapes.Replace(trim(unescapeDocument(lit.Value))))
			continue
		}
		trim(shellword.Unknown)
		w.expansion(p, following(parts, i))
	}
	w.quoted = was
}

// documentEscapes is quotedEscapes for documents, in which quotes are plain characters.
var documentEscapes = strings.NewReplacer(`\`, `\\`, "`", "\\`", `$`, `\$`)

// documentBody returns the text of a document, with Unknown for what is expanded in it,
// and whether there is nothing of that kind.
func documentBody(parts []syntax.WordPart, quoted, tabs bool) (text string, literal bool) {
	trim := trimmer(tabs)
	var b strings.Builder
	literal = true
	for _, p := range parts {
		lit, ok := p.(*syntax.Lit)
		switch {
		case !ok:
			literal = false
			b.WriteString(trim(shellword.Unknown))
		case quoted:
			b.WriteString(trim(lit.Value))
		default:
			b.WriteString(trim(unescapeDocument(lit.Value)))
		}
	}
	return b.String(), literal
}

// trimmer returns a function that removes the tabs at the beginning of lines.
func trimmer(tabs bool) func(string) string {
	if !tabs {
		return func(s string) string { return s }
	}
	start := true
	return func(s string) string {
		out := make([]byte, 0, len(s))
		for i := range len(s) {
			if start && s[i] == '\t' {
				continue
			}
			start = s[i] == '\n'
			out = append(out, s[i])
		}
		return string(out)
	}
}

// unescapeDocument removes the backslashes of a document that is expanded.
func unescapeDocument(v string) string {
	if !strings.Contains(v, `\`) {
		return v
	}
	var t strings.Builder
	for i := 0; i < len(v); i++ {
		if v[i] == '\\' && i+1 < len(v) && strings.IndexByte("$`\\\n", v[i+1]) >= 0 {
			i++
			if v[i] == '\n' {
				continue
			}
		}
		t.WriteByte(v[i])
	}
	return t.String()
}

// flush writes the documents that were asked for.
func (w *formWriter) flush() {
	if len(w.docs) > 0 && bytes.IndexByte(w.out[w.docs[0].begun:], '\n') >= 0 {
		w.refuse("a text of several lines follows a here-document")
	}
	for _, d := range w.docs {
		w.text("\n" + d.body + d.end)
	}
	w.docs = nil
}

// documentText returns the text of "$(cat <<'E' …)", the usual way to write a
// long argument, and [shellword.Unknown] for any other substitution.
func documentText(c *syntax.CmdSubst) string {
	if len(c.Stmts) != 1 || c.Backquotes || c.TempFile || c.ReplyVar {
		return shellword.Unknown
	}
	st := c.Stmts[0]
	call, ok := st.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 || len(call.Args) != 1 || call.Args[0].Lit() != "cat" || len(st.Redirs) != 1 || st.Negated || st.Background || st.Coprocess {
		return shellword.Unknown
	}
	doc := st.Redirs[0]
	if doc.Op != syntax.Hdoc || doc.N != nil || doc.Hdoc == nil {
		return shellword.Unknown
	}
	text := doc.Hdoc.Lit()
	quoted := doc.Word.Lit() == ""
	if text == "" || !quoted && strings.Contains(text, `\`) {
		return shellword.Unknown
	}
	return strings.TrimRight(text, "\n")
}
