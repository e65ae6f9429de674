package permission

import (
	"path"
	"slices"
	"strings"
	"sync"
)

// What options make a program run and write. A rule that allows a program with any
// arguments is not meant for that.

// steered names the programs that have such options.
var steered = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{"uniq": true, "xxd": true}
	for name, e := range effects() {
		if e.steers || e.operands == "command" {
			program, _, _ := strings.Cut(name, ">")
			names[program] = true
		}
	}
	return names
})

// options follows what the options of a command run and write.
func (s *shell) options(at int, in []workdir) {
	c := &s.List[at]
	if !steered()[c.Name] {
		return
	}
	words := c.words
	if c.Name == "git" {
		words = afterGlobals(words)
	}
	e, words, _, _ := effectOf(c.Name, words)
	switch {
	case e == nil:
		c.steered = slices.ContainsFunc(c.words, word.mayBeOption)
		return
	case e.operands == "command":
		s.inner(at, e, words, in)
		return
	case !e.steers && c.Name != "uniq" && c.Name != "xxd":
		return
	}
	r := optionReader{effect: e, words: words}
	r.read()
	if r.runs != "" {
		c.spell = append(c.spell, r.runs)
	}
	c.steered, c.outputs = r.unknown, r.outputs
	switch c.Name {
	case "sed", "gsed":
		s.sed(c, &r, in)
		return
	case "uniq", "xxd":
		c.steered = c.steered || slices.ContainsFunc(r.operands, func(w word) bool { return w.split || w.glob != "" })
		if len(r.operands) > 1 {
			r.written = append(r.written, r.operands[1:]...)
		}
	case "yq":
		if r.inPlace {
			r.written = append(r.written, r.operands...)
		}
	case "curl", "wget":
		r.written = append(r.written, r.downloads(c.Name)...)
		if slices.ContainsFunc(c.Args, func(a string) bool { return strings.Contains(a, "%output") }) {
			r.written = append(r.written, word{text: Unknown})
		}
	}
	for _, w := range r.written {
		s.writes(w, in)
	}
}

// afterGlobals returns the words of git that follow its own options.
func afterGlobals(words []word) []word {
	for len(words) > 0 && strings.HasPrefix(words[0].text, "-") {
		name := words[0].text
		words = words[1:]
		if len(words) > 0 && slices.Contains([]string{"-c", "-C", "--git-dir", "--work-tree", "--namespace", "--config-env", "--super-prefix", "--attr-source"}, name) {
			words = words[1:]
		}
	}
	return words
}

// writes notes a file that a program writes.
func (s *shell) writes(w word, in []workdir) {
	if w.text != "-" && !slices.Contains(streams, w.text) {
		s.Redirects = append(s.Redirects, Redirect{Path: w.text, Write: true, word: w, in: in})
	}
}

// inner follows the command that a program such as "poetry run" runs. A rule for the
// program covers it.
func (s *shell) inner(at int, e *effect, words []word, in []workdir) {
	r := argumentReader{effect: e, words: words, stop: true}
	why := r.read()
	command := slices.Concat(r.operands, r.words)
	if why != "" || len(command) == 0 {
		s.List[at].steered = true
		return
	}
	outer := s.outer
	s.outer = at + 1
	s.call(command, nil, nil, in)
	s.outer = outer
}

// An optionReader finds the options that run or write. It goes on where it does not
// know an option.
type optionReader struct {
	*effect
	words    []word
	operands []word
	scripts  []word // texts of the option -e
	coded    bool   // a file says what is done
	inPlace  bool   // files that other arguments name are written
	document bool   // an option says where a download is written to
	runs     string // an option that runs a program, "" for none
	written  []word // files that it writes
	outputs  []word // files that a build writes
	unknown  bool   // an argument that is not known yet may be such an option
}

// mayBeOption reports whether a word may turn out to be an option, or several.
func (w word) mayBeOption() bool {
	return !w.found && strings.HasPrefix(w.text, Unknown) && !w.home || w.split && strings.HasPrefix(w.text, "-")
}

func (r *optionReader) read() {
	for len(r.words) > 0 {
		w := r.words[0]
		r.words = r.words[1:]
		switch {
		case w.text == "--":
			r.operands = append(r.operands, r.words...)
			return
		case w.mayBeOption():
			r.unknown = true
			r.operands = append(r.operands, w)
		case len(w.text) < 2 || w.text[0] != '-':
			r.operands = append(r.operands, w)
		default:
			r.option(w)
		}
	}
}

func (r *optionReader) option(w word) {
	name, isLong := strings.CutPrefix(w.text, "--")
	if !isLong {
		name = w.text[1:]
	}
	long, value, has := strings.Cut(name, "=")
	if strings.Contains(long, Unknown) {
		r.unknown = true
		return
	}
	kind, known := r.long[long]
	if isLong {
		kind, known = r.find(long)
	}
	if known || isLong || r.single {
		if known {
			r.value(w, kind, long, word{text: value, split: w.split}, has)
		}
		return
	}
	for i := range len(name) {
		kind, known := r.letters[name[i]]
		if !known || kind == plainOption || kind == askingOption {
			continue
		}
		if kind == inPlaceOption && r.letters['O'] == inPlaceOption { // "-OL" of curl has no value
			r.inPlace = true
			continue
		}
		r.value(w, kind, name[i:i+1], word{text: name[i+1:], split: w.split}, i+1 < len(name) || kind == optionalOption)
		return
	}
}

// value takes in the value of an option, which is in its word or in the next.
func (r *optionReader) value(w word, kind byte, name string, v word, has bool) {
	switch kind {
	case runOption:
		r.runs = w.text
		return
	case inPlaceOption:
		r.inPlace = true
		return
	case plainOption, askingOption, optionalOption:
		return
	}
	if !has {
		if len(r.words) == 0 {
			return
		}
		v, r.words = r.words[0], r.words[1:]
	}
	if v.split || v.glob != "" {
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
	case textOption:
		if name == "e" || len(name) > 1 && strings.HasPrefix("expression", name) {
			r.scripts = append(r.scripts, v)
		}
	}
}

// downloads returns the files that a download writes under the names in its addresses.
func (r *optionReader) downloads(program string) (files []word) {
	if program == "curl" && !r.inPlace || program == "wget" && r.document {
		return nil
	}
	for _, address := range r.operands {
		files = append(files, fetched(address))
	}
	if len(files) == 0 && program == "curl" {
		files = []word{{text: Unknown}} // the address is in an option
	}
	return files
}

// fetched returns the file that a download names after its address.
func fetched(address word) word {
	if address.hidden() || strings.ContainsAny(address.text, "{}[]*?%#") {
		return word{text: Unknown}
	}
	name := path.Base(address.text)
	if _, rest, ok := strings.Cut(address.text, "://"); name == "/" || name == "." || name == ".." || ok && !strings.Contains(rest, "/") {
		name = "index.html"
	}
	return word{text: name}
}
