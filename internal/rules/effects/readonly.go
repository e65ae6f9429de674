package effects

import (
	_ "embed"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/shellword"
)

//go:embed readonly.txt
var readonlyTable string

// A Reader says which calls of a program change nothing: see readonly.txt.
type Reader struct {
	Options
	operands string // one of readerOperands
	most     int    // paths, 0 for any number
	Descends bool   // shows files that its arguments do not name
}

var readerOperands = []string{"paths", "text", "none", "pattern", "version", "echo", "find", "git"}

// ReaderOf returns which calls of a program change nothing; false for a program that is
// not known to have any.
func ReaderOf(name string) (*Reader, bool) {
	r, known := known().readers[name]
	return r, known
}

func readReaders(file, text string) map[string]*Reader {
	table := map[string]*Reader{}
	for _, r := range readTable(file, text) {
		x := newReader(&r)
		for _, name := range r.names {
			table[name] = x
		}
	}
	return table
}

func newReader(r *row) *Reader {
	x := &Reader{}
	for _, w := range r.words {
		switch kind := x.add(r, w, false); {
		case kind == PlainOption || kind == TextOption || kind == pathOption || kind == OptionalOption:
		case kind != 0:
			r.fail("the option %s changes something: remove it", w)
		case strings.HasPrefix(w, "max="):
			x.most = r.count(w)
		case w == "descends":
			x.Descends = true
		default:
			x.operands = r.operands(w, x.operands, readerOperands)
		}
	}
	if x.operands == "" {
		r.fail("a word for the other arguments is missing, such as paths")
	}
	return x
}

// Accepts reports whether a program that a [Reader] is about may change nothing with these
// arguments, for the few programs whose options do not tell.
func Accepts(name string, args []string) bool {
	switch name {
	case "cd":
		return cdReads(args)
	case "date":
		return dateReads(args)
	case "sed":
		return sedReads(args)
	}
	return true
}

// cdReads reports whether cd is told where to go: the home folder and the one before are
// not known to be in the roots.
func cdReads(args []string) bool {
	return len(args) > 0 && !strings.HasPrefix(args[len(args)-1], "-")
}

func dateReads(args []string) bool {
	return !slices.ContainsFunc(args, func(a string) bool { return !strings.HasPrefix(a, "+") && !strings.HasPrefix(a, "-") })
}

var printLines = regexp.MustCompile(`^[0-9]+(,([0-9]+|\$))?p$|^\$p$`)

// sedReads accepts "sed -n 10,20p file" and nothing else.
func sedReads(args []string) bool {
	return len(args) >= 2 && (args[0] == "-n" || args[0] == "-En" || args[0] == "-nE") && printLines.MatchString(args[1]) &&
		!slices.ContainsFunc(args[2:], func(a string) bool { return strings.HasPrefix(a, "-") && a != "-" })
}

// Parse returns the arguments that are paths; false if there is an argument that
// is not known to change nothing. For git the paths are never nil then.
func (r *Reader) Parse(name string, words []shellword.Word) (files []shellword.Word, ok bool) {
	switch r.operands {
	case "echo":
		return nil, !shellword.Any(words, func(w shellword.Word) bool { return w.Split })
	case "version":
		return nil, len(words) == 1 && words[0].Text == "--version"
	case "find":
		return findReads(words)
	case "git":
		return gitReads(words)
	}
	if shellword.Any(words, shellword.Word.Hidden) {
		return nil, false
	}
	var operands []shellword.Word
	pattern := r.operands == "pattern"
	for i := 0; i < len(words); i++ {
		w := words[i]
		a := w.Text
		if a == "--" && name != "[" && name != "test" {
			operands = append(operands, words[i+1:]...)
			break
		}
		if len(a) < 2 || a[0] != '-' || name == "[" || name == "test" || r.operands == "text" && shellword.IsDigits(a[1:]) {
			operands = append(operands, w)
			continue
		}
		used, flag, file, good := r.flag(words[i:])
		if !good {
			return nil, false
		}
		if file != nil {
			files = append(files, *file)
		}
		switch flag {
		case "e", "f", "regexp", "files", "type-list":
			pattern = false
		}
		i += used - 1
	}
	if r.most > 0 && len(operands) > r.most || r.operands == "none" && len(operands) > 0 {
		return nil, false
	}
	if pattern && len(operands) > 0 {
		operands = operands[1:]
	}
	if r.operands == "text" {
		return files, true
	}
	return append(files, operands...), true
}

// flag reads the flag that begins words: how many words it takes, the name of a
// long flag or of the letter with a value, and the path in it.
func (r *Reader) flag(words []shellword.Word) (used int, name string, file *shellword.Word, ok bool) {
	a := words[0].Text
	used = 1
	value := func(kind byte, attached string, has bool) bool {
		v := shellword.Word{Text: attached}
		if !has {
			if used = 2; len(words) < 2 {
				return false
			}
			v = words[1]
		}
		if kind == pathOption {
			file = &v
			return true
		}
		// Another version of the program may take the next word for a file.
		return has || name == "e" || name == "regexp" || !looksLikePath(v)
	}
	if long, isLong := strings.CutPrefix(a, "--"); isLong {
		name, attached, has := strings.Cut(long, "=")
		switch kind, known := r.long[name]; {
		case !known:
			return 0, "", nil, false
		case kind == TextOption || kind == pathOption:
			ok = value(kind, attached, has)
		default:
			ok = !has || kind == OptionalOption
		}
		return used, name, file, ok
	}
	for i := 1; i < len(a); i++ {
		kind, known := r.letters[a[i]]
		if !known {
			return 0, "", nil, false
		}
		if kind == PlainOption {
			continue
		}
		name, rest := a[i:i+1], a[i+1:]
		ok = value(kind, rest, rest != "")
		return used, name, file, ok
	}
	return used, "", nil, true
}

func looksLikePath(w shellword.Word) bool {
	return w.Home || strings.HasPrefix(w.Text, "/") || strings.HasPrefix(w.Text, "~") || strings.HasPrefix(w.Text, "..")
}

// IsReader reports whether a program is known to change nothing when it is called in
// certain ways.
func IsReader(name string) bool {
	_, known := known().readers[name]
	return known
}

// ReadsFiles reports whether a program is known to change nothing when it is called in
// other ways than to say its version.
func ReadsFiles(name string) bool {
	r, known := known().readers[name]
	return known && r.operands != "version"
}
