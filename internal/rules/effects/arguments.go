package effects

import (
	"strings"

	"github.com/openagent-go/agent/internal/rules/shellword"
)

// Arguments reads the arguments of a command with the row of its program.
type Arguments struct {
	*Effect
	Words    []shellword.Word
	stop     bool // at the first operand
	Operands []shellword.Word
	Code     []shellword.Word // files of code
	Paths    []shellword.Word // in the same word as the option
	Module   string
	scripts  []shellword.Word // texts of the option -e
}

// Read returns why the arguments may be dangerous, "" if they are not.
func (r *Arguments) Read() string {
	for len(r.Words) > 0 {
		w := r.Words[0]
		text := w.Text
		switch {
		case text == "--":
			r.Operands, r.Words = append(r.Operands, r.Words[1:]...), nil
			return ""
		case len(text) < 2 || text[0] != '-' && !strings.HasPrefix(text, shellword.Unknown):
			if r.stop {
				return ""
			}
			r.Operands = append(r.Operands, w)
			r.Words = r.Words[1:]
			if r.Effect.Operands == "script" || r.Effect.Operands == "command" {
				r.Operands, r.Words = append(r.Operands, r.Words...), nil
			}
			continue
		case text[0] != '-':
			if r.Effect.Operands == "text" && (r.any && !w.Split || len(r.Operands) > 0) {
				r.Operands, r.Words = append(r.Operands, w), r.Words[1:]
				continue
			}
			return "gets arguments that are only known when it runs"
		}
		if strings.HasPrefix(text, shellword.Unknown) {
			return "gets arguments that are only known when it runs"
		}
		r.Words = r.Words[1:]
		if why := r.option(w); why != "" {
			return why
		}
	}
	return ""
}

func (r *Arguments) option(w shellword.Word) string {
	name, isLong := strings.CutPrefix(w.Text, "--")
	if !isLong {
		name = w.Text[1:]
	}
	long, value, has := strings.Cut(name, "=")
	if !isLong {
		kind, known := r.long[long]
		if front, _, ok := strings.Cut(long, ":"); ok && !known {
			kind, known = r.long[front] // as in "-XX:a"
		}
		if known || r.single {
			isLong = true
			if !known && r.any {
				kind = PlainOption
			} else if !known {
				return "gets the option " + shellword.Show(w.Text) + ", which is not known"
			}
			return r.value(w, kind, value, has)
		}
		return r.cluster(w, name)
	}
	kind, known := r.find(long)
	if !known || strings.Contains(long, shellword.Unknown) {
		return "gets the option " + shellword.Show(w.Text) + ", which is not known"
	}
	return r.value(w, kind, value, has)
}

// cluster reads options of one letter in one word.
func (r *Arguments) cluster(w shellword.Word, letters string) string {
	for i := 0; i < len(letters); i++ {
		kind, known := r.letters[letters[i]]
		switch {
		case letters[i] == shellword.Unknown[0] || !known && !r.any:
			return "gets the option " + shellword.Show(w.Text) + ", which is not known"
		case !known && r.asksAmong(letters[i:]):
			return "is asked about with " + shellword.Show(w.Text)
		case !known:
			return "" // the rest may be its value
		case kind == askingOption || kind == runOption:
			return "is asked about with " + shellword.Show(w.Text)
		case kind == PlainOption:
			continue
		case kind == OptionalOption || kind == inPlaceOption:
			return r.value(w, kind, letters[i+1:], true)
		}
		if letters[i] == 'e' && kind == TextOption {
			r.script(letters[i+1:])
		}
		return r.value(w, kind, letters[i+1:], i+1 < len(letters))
	}
	return ""
}

// asksAmong reports whether letters may be options of which one asks, and not the value
// of the first.
func (r *Arguments) asksAmong(letters string) bool {
	if len(letters) > maxCluster {
		return false
	}
	asks := false
	for i := range len(letters) {
		if letters[i] < 'A' || letters[i] > 'z' {
			return false
		}
		asks = asks || gravity(r.letters[letters[i]]) > 0
	}
	return asks
}

// maxCluster is how many letters in one word are taken for options that are not all known.
const maxCluster = 5

func (r *Arguments) script(text string) {
	if text != "" {
		r.scripts = append(r.scripts, shellword.Word{Text: text})
	} else if len(r.Words) > 0 {
		r.scripts = append(r.scripts, r.Words[0])
	}
}

// value reads the value of an option.
func (r *Arguments) value(w shellword.Word, kind byte, value string, has bool) string {
	switch kind {
	case askingOption, runOption:
		return "is asked about with " + shellword.Show(w.Text)
	case PlainOption, OptionalOption, inPlaceOption:
		if strings.Contains(value, shellword.Unknown) {
			return "gets an argument that is only known when it runs"
		}
		if value != "" {
			r.Paths = append(r.Paths, shellword.Word{Text: value})
		}
		return ""
	}
	v := shellword.Word{Text: value, Split: w.Split}
	if !has {
		if len(r.Words) == 0 {
			return ""
		}
		v, r.Words = r.Words[0], r.Words[1:]
	}
	switch {
	case kind == TextOption && !v.Split && v.Glob == "":
		return ""
	case v.Hidden() || v.Split || v.Glob != "":
		return "gets an argument that is only known when it runs"
	case kind == codeOption:
		r.Code = append(r.Code, v)
	case kind == moduleOption:
		r.Module, r.Operands, r.Words = v.Text, r.Words, nil
	}
	if has {
		r.Paths = append(r.Paths, v)
	}
	return ""
}
