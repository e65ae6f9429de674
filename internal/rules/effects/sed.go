package effects

import (
	"strings"

	"github.com/openagent-go/agent/internal/rules/shellword"
)

// A sedScript is what a script of sed opens and runs.
type sedScript struct {
	reads, writes []string
	runs          bool

	rest string
}

// readSed reads a script as GNU sed does; false if that is not possible.
func readSed(script string) (x sedScript, ok bool) {
	if strings.Contains(script, shellword.Unknown) {
		return x, false
	}
	x.rest = script
	for {
		x.rest = strings.TrimLeft(x.rest, " \t\n;")
		if x.rest == "" {
			return x, true
		}
		if !x.address() || x.rest == "" || !x.command() {
			return x, false
		}
	}
}

// address reads the lines that a command is for.
func (x *sedScript) address() bool {
	for {
		before := x.rest
		switch {
		case x.rest == "":
			return false
		case strings.IndexByte("0123456789$,+~! \t", x.rest[0]) >= 0:
			x.rest = x.rest[1:]
		case x.rest[0] == '/':
			x.rest = x.rest[1:]
			if !x.until('/') {
				return false
			}
			x.rest = strings.TrimLeft(x.rest, "IM")
		case x.rest[0] == '\\' && len(x.rest) > 1:
			end := x.rest[1]
			x.rest = x.rest[2:]
			if !x.until(end) {
				return false
			}
			x.rest = strings.TrimLeft(x.rest, "IM")
		}
		if x.rest == before {
			return true
		}
	}
}

// until passes over a text and the character that ends it.
func (x *sedScript) until(end byte) bool {
	if end == '\\' || end == '\n' {
		return false
	}
	for i := 0; i < len(x.rest); i++ {
		switch x.rest[i] {
		case end:
			x.rest = x.rest[i+1:]
			return true
		case '\\':
			i++
		}
	}
	return false
}

// line returns what is left of the line.
func (x *sedScript) line() string {
	text, rest, _ := strings.Cut(x.rest, "\n")
	x.rest = rest
	return text
}

func (x *sedScript) command() bool {
	name := x.rest[0]
	x.rest = x.rest[1:]
	switch name {
	case '{':
	case '}', '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F':
		return x.ends()
	case 'l', 'L', 'q', 'Q':
		x.rest = strings.TrimLeft(x.rest, " \t0123456789")
		return x.ends()
	case '#':
		x.line()
	case ':', 'b', 't', 'T':
		x.rest = strings.TrimLeft(x.rest, " \t")
		if end := strings.IndexAny(x.rest, " \t\n;}"); end >= 0 {
			x.rest = x.rest[end:]
		} else {
			x.rest = ""
		}
	case 'a', 'i', 'c':
		for text := x.line(); strings.HasSuffix(text, `\`) && x.rest != ""; {
			text = x.line()
		}
	case 'r', 'R':
		x.reads = append(x.reads, strings.TrimLeft(x.line(), " \t"))
	case 'w', 'W':
		x.writes = append(x.writes, strings.TrimLeft(x.line(), " \t"))
	case 'e':
		x.runs = true
		x.line()
	case 'y', 's':
		return x.substitution(name)
	default:
		return false
	}
	return true
}

func (x *sedScript) substitution(name byte) bool {
	if x.rest == "" {
		return false
	}
	end := x.rest[0]
	x.rest = x.rest[1:]
	for range 2 {
		if !x.until(end) {
			return false
		}
	}
	for name == 's' && x.rest != "" && strings.IndexByte("gpiImMe0123456789w", x.rest[0]) >= 0 {
		flag := x.rest[0]
		x.rest = x.rest[1:]
		if x.runs = x.runs || flag == 'e'; flag == 'w' {
			x.writes = append(x.writes, strings.TrimLeft(x.line(), " \t"))
			return true
		}
	}
	return x.ends()
}

// ends reports whether a command ends here.
func (x *sedScript) ends() bool {
	x.rest = strings.TrimLeft(x.rest, " \t")
	return x.rest == "" || strings.IndexByte(";\n}#", x.rest[0]) >= 0
}

// sed notes what the scripts of sed open and run, and the files that it changes in place.
func (r *optionReader) sed(u *use) {
	files := r.operands
	if len(r.scripts) == 0 && len(files) > 0 {
		r.scripts, files = files[:1], files[1:]
	}
	script, ok := readSed(strings.Join(shellword.Texts(r.scripts), "\n"))
	u.Unknown = u.Unknown || !ok || r.coded
	u.ScriptRuns = script.runs
	for _, name := range script.writes {
		u.writes(shellword.Word{Text: name})
	}
	for _, name := range script.reads {
		u.Files = append(u.Files, file{Name: shellword.Word{Text: name}})
	}
	if r.inPlace {
		u.writes(files...)
	}
}
