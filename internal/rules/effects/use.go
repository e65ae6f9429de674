package effects

import (
	"path"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/shellword"
)

// Programs that a command runs, and files that it writes, because of its arguments. A rule
// that allows a program with any arguments does not cover them.

// A use is what the arguments of a command make its program do.
type use struct {
	Runs       string           // an option that runs a program, "" for none
	Unknown    bool             // an argument that is not known may be an option that runs or writes
	ScriptRuns bool             // the script that it interprets runs a command
	Outputs    []shellword.Word // files that a build writes
	Files      []file           // files that it opens
	Inner      []shellword.Word // the command that it runs
}

// A file is one that a program opens.
type file struct {
	Name  shellword.Word
	Write bool
}

//go:noinline // called from many places: every program stays smaller
func (u *use) writes(names ...shellword.Word) {
	for _, w := range names {
		u.Files = append(u.Files, file{w, true})
	}
}

// UseOf reads the arguments of a command.
func UseOf(name string, words []shellword.Word) use {
	if !IsSteered(name) {
		return use{}
	}
	rest := words
	if name == "git" {
		rest = afterGlobals(rest)
	}
	e, rest, _, _ := Lookup(name, rest)
	switch {
	case e == nil:
		return use{Unknown: shellword.Any(words, shellword.Word.MayBeOption)}
	case e.Operands == "command":
		return innerCommand(e, rest)
	case !e.steers && name != "uniq" && name != "xxd":
		return use{}
	}
	r := optionReader{Effect: e, words: rest}
	r.read()
	u := use{Runs: r.runs, Unknown: r.unknown, Outputs: r.outputs}
	switch name {
	case "sed", "gsed":
		r.sed(&u)
		return u
	case "uniq", "xxd":
		u.Unknown = u.Unknown || shellword.Any(r.operands, func(w shellword.Word) bool { return w.Split || w.Glob != "" })
		if len(r.operands) > 1 {
			r.written = append(r.written, r.operands[1:]...)
		}
	case "yq":
		if r.inPlace {
			r.written = append(r.written, r.operands...)
		}
	case "curl", "wget":
		r.written = append(r.written, r.downloads(name)...)
		if shellword.Any(words, func(w shellword.Word) bool { return strings.Contains(w.Text, "%output") }) {
			r.written = append(r.written, shellword.Word{Text: shellword.Unknown})
		}
	}
	u.writes(r.written...)
	return u
}

// innerCommand finds the command that a program such as "poetry run" runs.
func innerCommand(e *Effect, words []shellword.Word) use {
	r := Arguments{Effect: e, Words: words, stop: true}
	why := r.Read()
	command := slices.Concat(r.Operands, r.Words)
	if why != "" || len(command) == 0 {
		return use{Unknown: true}
	}
	return use{Inner: command}
}

// afterGlobals returns the words of git that follow its own options.
func afterGlobals(words []shellword.Word) []shellword.Word {
	for len(words) > 0 && strings.HasPrefix(words[0].Text, "-") {
		name := words[0].Text
		words = words[1:]
		if len(words) > 0 && known().gitValueOptions[name] {
			words = words[1:]
		}
	}
	return words
}

// An optionReader finds the options that run or write. It goes on where it does not
// know an option.
type optionReader struct {
	*Effect
	words    []shellword.Word
	operands []shellword.Word
	scripts  []shellword.Word // texts of the option -e
	coded    bool             // a file says what is done
	inPlace  bool             // files that other arguments name are written
	document bool             // an option says where a download is written to
	runs     string           // an option that runs a program, "" for none
	written  []shellword.Word // files that it writes
	outputs  []shellword.Word // files that a build writes
	unknown  bool             // an argument that is not known yet may be such an option
}

func (r *optionReader) read() {
	for len(r.words) > 0 {
		w := r.words[0]
		r.words = r.words[1:]
		switch {
		case w.Text == "--":
			r.operands = append(r.operands, r.words...)
			return
		case w.MayBeOption():
			r.unknown = true
			r.operands = append(r.operands, w)
		case len(w.Text) < 2 || w.Text[0] != '-':
			r.operands = append(r.operands, w)
		default:
			r.option(w)
		}
	}
}

func (r *optionReader) option(w shellword.Word) {
	name, isLong := strings.CutPrefix(w.Text, "--")
	if !isLong {
		name = w.Text[1:]
	}
	long, value, has := strings.Cut(name, "=")
	if strings.Contains(long, shellword.Unknown) {
		r.unknown = true
		return
	}
	kind, known := r.long[long]
	if isLong {
		kind, known = r.find(long)
	}
	if known || isLong || r.single {
		if known {
			r.value(w, kind, long, shellword.Word{Text: value, Split: w.Split}, has)
		}
		return
	}
	for i := range len(name) {
		kind, known := r.letters[name[i]]
		if !known || kind == PlainOption || kind == askingOption {
			continue
		}
		if kind == inPlaceOption && r.letters['O'] == inPlaceOption { // "-OL" of curl has no value
			r.inPlace = true
			continue
		}
		r.value(w, kind, name[i:i+1], shellword.Word{Text: name[i+1:], Split: w.Split}, i+1 < len(name) || kind == OptionalOption)
		return
	}
}

// value takes in the value of an option, which is in its word or in the next.
func (r *optionReader) value(w shellword.Word, kind byte, name string, v shellword.Word, has bool) {
	switch kind {
	case runOption:
		r.runs = w.Text
		return
	case inPlaceOption:
		r.inPlace = true
		return
	case PlainOption, askingOption, OptionalOption:
		return
	}
	if !has {
		if len(r.words) == 0 {
			return
		}
		v, r.words = r.words[0], r.words[1:]
	}
	if v.Split || v.Glob != "" {
		r.unknown = true // it may become more than the value
	}
	switch kind {
	case writtenOption:
		r.written = append(r.written, v)
		r.document = r.document || name == "O" || len(name) > len("output-") && strings.HasPrefix("output-document", name)
	case outputOption:
		r.outputs = append(r.outputs, v)
	case codeOption:
		r.coded = true
	case TextOption:
		if name == "e" || len(name) > 1 && strings.HasPrefix("expression", name) {
			r.scripts = append(r.scripts, v)
		}
	}
}

// downloads returns the files that a download writes under the names in its addresses.
func (r *optionReader) downloads(program string) (files []shellword.Word) {
	if program == "curl" && !r.inPlace || program == "wget" && r.document {
		return nil
	}
	for _, address := range r.operands {
		files = append(files, fetched(address))
	}
	if len(files) == 0 && program == "curl" {
		files = []shellword.Word{{Text: shellword.Unknown}} // the address is in an option
	}
	return files
}

// fetched returns the file that a download names after its address.
func fetched(address shellword.Word) shellword.Word {
	if address.Hidden() || strings.ContainsAny(address.Text, "{}[]*?%#") {
		return shellword.Word{Text: shellword.Unknown}
	}
	name := path.Base(address.Text)
	if _, rest, ok := strings.Cut(address.Text, "://"); name == "/" || name == "." || name == ".." || ok && !strings.Contains(rest, "/") {
		name = "index.html"
	}
	return shellword.Word{Text: name}
}
