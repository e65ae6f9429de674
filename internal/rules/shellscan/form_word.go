package shellscan

import (
	"strings"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/rules/shellword"
	"mvdan.cc/sh/v3/syntax"
)

// inCommand says where in a command a word stands.
type inCommand struct {
	name    bool // where reserved words and assignments are known: it must not be one
	braces  bool // braces in it are expanded
	element bool // of a list, where "[a]=b" means more
}

var isReserved = shellword.SetOf(strings.Fields("! { } [[ ]] case coproc do done elif else esac fi for function if in select then time until while"))

func (w *formWriter) word(x *syntax.Word, in inCommand) {
	if x == nil || len(x.Parts) == 0 {
		w.refuse("it has a form that is not known")
		return
	}
	first, _ := x.Parts[0].(*syntax.Lit)
	if first != nil && strings.HasPrefix(first.Value, "#") {
		w.refuse("a word begins like a comment")
	}
	if in.name && isReserved[x.Lit()] {
		w.quote(x.Lit())
		return
	}
	in.braces = in.braces && shellword.HasBraces(x)
	if in.element && strings.HasPrefix(x.Lit(), "[") {
		w.refuse("it sets an element of a variable")
	}
	for i, p := range x.Parts {
		switch p := p.(type) {
		case *syntax.Lit:
			w.literal(p.Value, in)
		case *syntax.SglQuoted:
			w.single(p)
		case *syntax.DblQuoted:
			w.double(p)
		case *syntax.ProcSubst:
			if p.Op != syntax.CmdIn && p.Op != syntax.CmdOut {
				w.refuse("it has a form that is not known")
			}
			w.bash = true
			w.apart(p.Op.String(), p.Stmts, p.OpPos)
		default:
			w.expansion(p, following(x.Parts, i))
		}
	}
}

// following returns the part after one, nil for none.
func following(parts []syntax.WordPart, i int) syntax.WordPart {
	if i+1 < len(parts) {
		return parts[i+1]
	}
	return nil
}

// bare reports whether a character needs no quotes anywhere.
func bare(c byte) bool {
	return isLetterOrDigit(c) || strings.IndexByte("_./-+:,=@%^!", c) >= 0
}

func isLetterOrDigit(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// asItIs reports whether nothing of a text without quotes needs some.
func asItIs(v string, in inCommand) bool {
	for i := range len(v) {
		if c := v[i]; !bare(c) && strings.IndexByte("*?[]~", c) < 0 || c == '=' && in.name {
			return false
		}
	}
	return true
}

// literal writes a text without quotes: what means something there stays as it is, all
// else is quoted unless it needs no quotes.
func (w *formWriter) literal(v string, in inCommand) {
	if v == "{}" {
		in.braces = true // nothing is between them
	}
	active := "*?[]~"
	if in.braces {
		active = "*?[]~{},."
	}
	if asItIs(v, in) {
		w.out = append(w.out, v...)
		return
	}
	if strings.Contains(v, "[") {
		active += "-!^:." // which mean something between brackets
	}
	var run []byte // not written yet
	plain := true
	flush := func() {
		switch {
		case plain:
			w.out = append(w.out, run...)
		case len(run) == 1 && run[0] > ' ' && !bare(run[0]):
			w.out = append(w.out, '\\', run[0])
		default:
			w.quote(string(run))
		}
		run, plain = run[:0], true
	}
	for i := 0; i < len(v); i++ {
		c := v[i]
		switch {
		case c == '\\' && i+1 == len(v):
			w.refuse("a backslash quotes nothing")
		case c == '\\':
			i++
			if v[i] == '\n' {
				continue
			}
			_, size := utf8.DecodeRuneInString(v[i:])
			run = append(run, v[i:i+size]...)
			i += size - 1
			plain = false
		case c == '$' && in.braces:
			w.refuse("a dollar sign in braces may begin an expansion with what follows them")
			return
		case strings.IndexByte(active, c) >= 0:
			flush()
			w.out = append(w.out, c)
			for c == '~' && i+1 < len(v) && (isLetterOrDigit(v[i+1]) || strings.IndexByte("_.-+/", v[i+1]) >= 0) {
				i++ // quotes would end what is expanded
				if w.out = append(w.out, v[i]); v[i] == '/' {
					break
				}
			}
		case c == '=' && !in.name, c == ':' && strings.HasPrefix(v[i+1:], "~"):
			flush() // quotes would keep what follows from being expanded
			w.out = append(w.out, c)
		default:
			run = append(run, c)
			plain = plain && bare(c) && c != '='
		}
	}
	flush()
}

// quote writes a text that stands for itself.
func (w *formWriter) quote(s string) {
	if s == "" {
		w.text("''")
	}
	for s != "" {
		text, rest, found := strings.Cut(s, "'")
		if text != "" {
			w.text("'" + text + "'")
		}
		if found {
			w.text(`\'`)
		}
		s = rest
	}
}

func (w *formWriter) single(q *syntax.SglQuoted) {
	if !q.Dollar {
		w.quote(q.Value)
		return
	}
	text, ok := decodeDollar(q.Value)
	switch {
	case !ok:
		w.refuse("a text in $'…' has an unusual escape")
	case visible(text):
		w.quote(text)
	default:
		w.bash = true
		w.text(encodeDollar(text))
	}
}

const hexDigits = "0123456789abcdef"

// encodeDollar writes a text as $'…' in which no shell sees a quote.
func encodeDollar(text string) string {
	var b strings.Builder
	b.WriteString("$'")
	for i := range len(text) {
		if c := text[i]; c < ' ' || c >= 0x7f || c == '\'' || c == '\\' {
			b.WriteString(`\x`)
			b.WriteByte(hexDigits[c>>4])
			b.WriteByte(hexDigits[c&15])
		} else {
			b.WriteByte(c)
		}
	}
	return b.String() + "'"
}

var dollarEscapes = map[byte]byte{'a': 7, 'b': 8, 'e': 27, 'E': 27, 'f': 12, 'n': 10, 'r': 13, 't': 9, 'v': 11, '\\': '\\', '\'': '\'', '"': '"', '?': '?'}

// decodeDollar returns the text that $'…' stands for; false where shells differ.
func decodeDollar(v string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(v); i++ {
		if v[i] != '\\' {
			b.WriteByte(v[i])
			continue
		}
		if i++; i == len(v) {
			return "", false
		}
		if c, ok := dollarEscapes[v[i]]; ok {
			b.WriteByte(c)
			continue
		}
		base, digits := 8, 3
		if v[i] == 'x' {
			base, digits, i = 16, 2, i+1
		}
		n, used := 0, 0
		for used < digits && i+used < len(v) {
			d := digit(v[i+used])
			if d >= base {
				break
			}
			n, used = n*base+d, used+1
		}
		if used == 0 || n == 0 || n > 255 {
			return "", false
		}
		b.WriteByte(byte(n))
		i += used - 1
	}
	return b.String(), true
}

// digit returns the value of a hexadecimal digit, 16 for another character.
func digit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return 16
}

// double writes a text in double quotes.
func (w *formWriter) double(q *syntax.DblQuoted) {
	if q.Dollar {
		w.refuse("a text is to be translated")
		return
	}
	w.text(`"`)
	w.inQuotes(q.Parts)
	w.text(`"`)
}

// inQuotes writes parts to which the rules of double quotes apply, but for the quotes.
func (w *formWriter) inQuotes(parts []syntax.WordPart) {
	was := w.quoted
	w.quoted = true
	for i, p := range parts {
		lit, ok := p.(*syntax.Lit)
		if !ok {
			w.expansion(p, following(parts, i))
			continue
		}
		w.text(escapeQuoted(shellword.UnescapeQuoted(lit.Value)))
	}
	w.quoted = was
}

var quotedEscapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "`", "\\`", `$`, `\$`)

func escapeQuoted(s string) string {
	if !strings.ContainsAny(s, "\\\"`$") {
		return s
	}
	return quotedEscapes.Replace(s)
}
