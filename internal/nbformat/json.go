package nbformat

import (
	"encoding/json"
	"fmt"
	"strings"
)

// maxMembers is how many members an object may have.
const maxMembers = 1000

// A list is the items of an object or array in a text that is valid JSON.
type list struct {
	open, close int // of the brackets
	items       []item
}

// An item is an element of an array, or a member of an object: from its key to
// the end of its value.
type item struct {
	start, end int
	key        string // of a member, decoded
	keyEnd     int
	value      int // where the value starts
}

// object returns the members of the object that begins at i. Keys that occur
// twice are an error: programs differ in which they believe.
func object(text string, i int) (list, error) {
	if text[i] != '{' {
		return list{}, fmt.Errorf("it is not an object but begins with %q", text[i])
	}
	l := list{open: i}
	seen := map[string]bool{}
	for i = skip(text, i+1); text[i] != '}'; i = next(text, i) {
		m := item{start: i, keyEnd: end(text, i)}
		if err := json.Unmarshal([]byte(text[i:m.keyEnd]), &m.key); err != nil {
			return l, fmt.Errorf("reading a key: %w", err)
		}
		if seen[m.key] {
			return l, fmt.Errorf("it has the key %q twice", short(m.key))
		}
		if len(seen) == maxMembers {
			return l, fmt.Errorf("it has more than %d members", maxMembers)
		}
		seen[m.key] = true
		m.value = skip(text, skip(text, m.keyEnd)+1)
		m.end = end(text, m.value)
		l.items = append(l.items, m)
		i = m.end
	}
	l.close = i
	return l, nil
}

// array returns the elements of the array that begins at i.
func array(text string, i int) (list, error) {
	l := list{open: i}
	for i = skip(text, i+1); text[i] != ']'; i = next(text, i) {
		e := item{start: i, value: i, end: end(text, i)}
		if l.items = append(l.items, e); len(l.items) > MaxCells {
			return l, fmt.Errorf("it has more than %d cells", MaxCells)
		}
		i = e.end
	}
	l.close = i
	return l, nil
}

// skip returns the first place from i on that is not white space.
func skip(text string, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\n' || text[i] == '\r') {
		i++
	}
	return i
}

// next returns the start of the item after the one that ends at i, or the
// closing bracket.
func next(text string, i int) int {
	if i = skip(text, i); text[i] == ',' {
		i = skip(text, i+1)
	}
	return i
}

// end returns the end of the value that begins at i.
func end(text string, i int) int {
	depth := 0
	for ; i < len(text); i++ {
		switch text[i] {
		case '"':
			for i++; text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
			if depth == 0 {
				return i + 1
			}
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth < 0 {
				return i
			}
			if depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// member returns the member with the key, or nil.
func (l list) member(key string) *item {
	for i := range l.items {
		if l.items[i].key == key {
			return &l.items[i]
		}
	}
	return nil
}

// value returns the JSON of a member's value, "" if there is none.
func (l list) value(text, key string) string {
	m := l.member(key)
	if m == nil {
		return ""
	}
	return text[m.value:m.end]
}

// insert returns text with one more item before the one at i, or after the last.
// depth is that of the list.
func (l list) insert(text string, i int, item string, s style, depth int) string {
	n := len(l.items)
	if n == 0 {
		return text[:l.open] + s.wrap(text[l.open:l.open+1]+text[l.close:l.close+1], []string{item}, s.margin(depth)) + text[l.close+1:]
	}
	gap := "," + text[l.open+1:l.items[0].start]
	switch {
	case n > 1:
		gap = text[l.items[0].end:l.items[1].start]
	case gap == ",":
		gap = s.comma
	}
	if i < n {
		at := l.items[i].start
		return text[:at] + item + gap + text[at:]
	}
	at := l.items[n-1].end
	return text[:at] + gap + item + text[at:]
}

// remove returns text without the item at i.
func (l list) remove(text string, i int) string {
	from, to := l.items[i].start, l.items[i].end
	switch n := len(l.items); {
	case n == 1:
		from, to = l.open+1, l.close
	case i == n-1:
		from = l.items[i-1].end
	default:
		to = l.items[i+1].start
	}
	return text[:from] + text[to:]
}

// A style is how JSON is laid out.
type style struct {
	newline string // "" for all in one line
	indent  string // of one level more
	colon   string // between key and value
	comma   string // between items in one line
}

// styleOf returns the style that an object is written in: items of a text of one
// line are apart as its members are.
func styleOf(text string, o list) style {
	s := style{colon: ": ", comma: ", "}
	if len(o.items) == 0 {
		return s
	}
	first := o.items[0]
	s.colon = text[first.keyEnd:first.value]
	s.newline, s.indent = lineBreak(text[o.open+1 : first.start])
	if len(o.items) > 1 && s.newline == "" {
		if gap := text[first.end:o.items[1].start]; !strings.Contains(gap, "\n") {
			s.comma = gap
		}
	}
	return s
}

// lineBreak returns the last line break in white space, "" for none, and the text after it.
func lineBreak(space string) (newline, rest string) {
	i := strings.LastIndexByte(space, '\n')
	switch {
	case i < 0:
		return "", ""
	case i > 0 && space[i-1] == '\r':
		return "\r\n", space[i+1:]
	}
	return "\n", space[i+1:]
}

// margin returns the text before an item of the depth that has its own line, "" for a text
// of one line.
func (s style) margin(depth int) string {
	if s.newline == "" {
		return ""
	}
	return s.newline + strings.Repeat(s.indent, depth)
}

// wrap returns items between two brackets; margin is that of the brackets.
func (s style) wrap(brackets string, items []string, margin string) string {
	if margin == "" {
		return brackets[:1] + strings.Join(items, s.comma) + brackets[1:]
	}
	inner := margin + s.indent
	return brackets[:1] + inner + strings.Join(items, ","+inner) + margin + brackets[1:]
}

// quote returns s as JSON text, with no more escapes than the format needs.
func quote(s string) string {
	var b strings.Builder
	b.Grow(len(s) + 2)
	b.WriteByte('"')
	for i := range len(s) {
		switch c := s[i]; c {
		case '"', '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case '\n':
			b.WriteString(`\n`)
		case '\r':
			b.WriteString(`\r`)
		case '\t':
			b.WriteString(`\t`)
		case '\b':
			b.WriteString(`\b`)
		case '\f':
			b.WriteString(`\f`)
		default:
			if c < 0x20 {
				fmt.Fprintf(&b, `\u%04x`, c)
			} else {
				b.WriteByte(c)
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}
