package export

import (
	"regexp"
	"strings"
)

// A block of prose is a heading, code, or else a paragraph.
type block struct {
	Heading bool
	Code    bool
	Text    string // of code
	Spans   []span
}

// A span is a piece of a line. One that is a link has a URL, of http or https.
type span struct {
	Text, URL  string
	Code, Bold bool
}

// prose reads the little of Markdown that changes how an answer looks most: code
// blocks, headings, and in lines code, bold and links. The rest stays as it was
// written, in its lines.
func prose(text string) []block {
	var list []block
	var para, code strings.Builder
	end := func() {
		if t := strings.Trim(para.String(), "\n"); t != "" {
			list = append(list, block{Spans: spans(t)})
		}
		para.Reset()
	}
	fence := ""
	for line := range strings.Lines(text) {
		mark := fenceOf(strings.TrimLeft(line, " "))
		switch {
		case fence != "" && strings.HasPrefix(mark, fence) && strings.TrimSpace(line) == mark:
			list = append(list, block{Code: true, Text: code.String()})
			code.Reset()
			fence = ""
		case fence != "":
			code.WriteString(line)
		case mark != "":
			end()
			fence = mark
		case heading1.MatchString(line):
			end()
			list = append(list, block{Heading: true, Spans: spans(strings.TrimSpace(strings.TrimLeft(line, "#")))})
		case strings.TrimSpace(line) == "":
			end()
		default:
			para.WriteString(line)
		}
	}
	if fence != "" {
		list = append(list, block{Code: true, Text: code.String()})
	}
	end()
	return list
}

var (
	heading1 = regexp.MustCompile(`^#{1,6} `)
	inline   = regexp.MustCompile("`[^`\n]+`" + `|\*\*[^*\n]+\*\*|\[[^\]\n]+\]\(https?://[^\s()<>"]+\)|https?://[^\s()<>"'` + "`" + `]+`)
)

// spans tells the pieces of a paragraph apart.
func spans(text string) []span {
	var list []span
	at := 0
	for _, m := range inline.FindAllStringIndex(text, -1) {
		if m[0] > at {
			list = append(list, span{Text: text[at:m[0]]})
		}
		s := text[m[0]:m[1]]
		switch s[0] {
		case '`':
			list = append(list, span{Text: s[1 : len(s)-1], Code: true})
		case '*':
			list = append(list, span{Text: s[2 : len(s)-2], Bold: true})
		case '[':
			label, url, _ := strings.Cut(s[1:len(s)-1], "](")
			list = append(list, span{Text: label, URL: url})
		default:
			s = strings.TrimRight(s, ".,;:!?") // the end of a sentence
			list = append(list, span{Text: s, URL: s})
			m[1] = m[0] + len(s)
		}
		at = m[1]
	}
	if at < len(text) {
		list = append(list, span{Text: text[at:]})
	}
	return list
}
