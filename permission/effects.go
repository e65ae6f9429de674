package permission

import (
	_ "embed"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// What programs may do, as the mode Auto knows it: see effects.txt.

//go:embed effects.txt
var effectsText string

// An effect is what is known of a program, or of a subcommand of one.
type effect struct {
	letters  map[byte]byte   // kinds of options of one letter, see the kinds
	long     map[string]byte // of others, without dashes
	any      bool            // options that are not listed change nothing that matters
	single   bool            // long options may have one dash
	operands string
	asks     []string // texts of arguments that ask
	steers   bool     // options run programs or write files
}

// Kinds of options.
const (
	plainOption    byte = '-' // without a value
	textOption     byte = ':'
	pathOption     byte = '@'
	codeOption     byte = '^' // the value is a file of code
	optionalOption byte = '?' // a value may follow in the same word
	moduleOption   byte = '%' // the value is a module of Python, its arguments follow
	askingOption   byte = '!'
	runOption      byte = '&' // a program or a text that runs follows
	writtenOption  byte = '>' // a path follows that is written
	outputOption   byte = '+' // a path follows that a build writes
	inPlaceOption  byte = '~' // files that other arguments name are written; a value may follow in the same word
)

var effects = sync.OnceValue(func() map[string]*effect {
	table := map[string]*effect{}
	for line := range strings.Lines(effectsText) {
		f := strings.Fields(line)
		if len(f) == 0 || strings.HasPrefix(f[0], "#") {
			continue
		}
		e := newEffect(f[1:])
		for name := range strings.SplitSeq(f[0], ",") {
			table[name] = e
		}
	}
	return table
})

func newEffect(tokens []string) *effect {
	e := &effect{letters: map[byte]byte{}, long: map[string]byte{}, single: slices.Contains(tokens, "single")}
	for _, t := range tokens {
		kind := plainOption
		option, asks := strings.CutPrefix(t, "!")
		option, runs := strings.CutPrefix(option, "!")
		if last := t[len(t)-1]; runs {
			kind = runOption
		} else if asks {
			kind = askingOption
		} else if len(t) > 2 && strings.IndexByte(":=@^?%>+~", last) >= 0 {
			option = t[:len(t)-1]
			if kind = last; last == '=' {
				kind = textOption
			}
		}
		e.steers = e.steers || kind == runOption || kind == writtenOption || kind == outputOption || kind == inPlaceOption
		switch {
		case t == "*":
			e.any = true
		case t == "single":
		case t[0] == '/':
			e.asks = append(e.asks, t[1:])
		case strings.HasPrefix(option, "--"):
			e.long[option[2:]] = kind
		case option[0] == '-' && e.isWord(option[1:], kind):
			e.long[option[1:]] = kind
		case option[0] == '-':
			for i := 1; i < len(option); i++ {
				e.letters[option[i]] = kind
			}
		default:
			e.operands = t
		}
	}
	return e
}

// isWord reports whether what follows one dash is the name of one option, and not
// letters of several.
func (e *effect) isWord(option string, kind byte) bool {
	return e.single || len(option) > 1 && (kind == askingOption || kind == runOption || strings.Contains(option, "-"))
}

// find returns the kind of a long option. Like getopt_long and git, it takes the
// beginning of a name for the one name that begins so. known is false for others.
func (e *effect) find(name string) (kind byte, known bool) {
	if kind, known = e.long[name]; known {
		return kind, true
	}
	found, grave := 0, 0
	for full, k := range e.long {
		if !strings.HasPrefix(full, name) {
			continue
		}
		if found++; found == 1 || gravity(k) > grave {
			kind, grave = k, gravity(k)
		}
	}
	if found == 1 || found > 1 && grave > 0 {
		return kind, true
	}
	if front, _, ok := strings.Cut(name, ":"); ok && found == 0 { // as in "-XX:a"
		return e.find(front)
	}
	return plainOption, e.any && found == 0
}

// gravity orders kinds of options where one name may stand for several.
func gravity(kind byte) int {
	switch kind {
	case runOption:
		return 3
	case askingOption:
		return 2
	case writtenOption, inPlaceOption:
		return 1
	}
	return 0
}

// effectOf returns what is known of a command, and its arguments without those that
// name a subcommand; nil and why if nothing is.
func effectOf(name string, words []word) (e *effect, rest []word, full, why string) {
	e = effects()[name]
	if e == nil {
		return nil, nil, name, show(name) + " is not a program whose effects are known"
	}
	full = name
	for e.operands == "subs" {
		r := argumentReader{effect: e, words: words, stop: true}
		if why := r.read(); why != "" {
			return nil, nil, full, show(full) + " " + why
		}
		sub := ""
		if words = r.words; len(words) > 0 {
			if w := words[0]; w.unknown() || w.glob != "" {
				return nil, nil, full, "what " + show(full) + " does is only known when it runs"
			}
			sub, words = words[0].text, words[1:]
		}
		next := effects()[full+">"+sub]
		if next == nil && sub == "" {
			return &effect{}, nil, full, "" // it says how it is used
		}
		if next == nil {
			return nil, nil, full, show(full+" "+sub) + " is not a command whose effects are known"
		}
		e, full = next, full+">"+sub
	}
	return e, words, full, ""
}

// An argumentReader reads the arguments of a command by what is known of it.
type argumentReader struct {
	*effect
	words    []word
	stop     bool // at the first operand
	operands []word
	code     []word // files of code
	paths    []word // in the same word as the option
	module   string
	scripts  []word // texts of the option -e
}

// read says why the arguments are not known to be without danger, "" if they are.
func (r *argumentReader) read() string {
	for len(r.words) > 0 {
		w := r.words[0]
		text := w.text
		switch {
		case text == "--":
			r.operands, r.words = append(r.operands, r.words[1:]...), nil
			return ""
		case len(text) < 2 || text[0] != '-' && !strings.HasPrefix(text, Unknown):
			if r.stop {
				return ""
			}
			r.operands = append(r.operands, w)
			r.words = r.words[1:]
			if r.effect.operands == "script" || r.effect.operands == "command" {
				r.operands, r.words = append(r.operands, r.words...), nil
			}
			continue
		case text[0] != '-':
			if r.effect.operands == "text" && (r.any && !w.split || len(r.operands) > 0) {
				r.operands, r.words = append(r.operands, w), r.words[1:]
				continue
			}
			return "gets arguments that are only known when it runs"
		}
		if strings.HasPrefix(text, Unknown) {
			return "gets arguments that are only known when it runs"
		}
		r.words = r.words[1:]
		if why := r.option(w); why != "" {
			return why
		}
	}
	return ""
}

func (r *argumentReader) option(w word) string {
	name, isLong := strings.CutPrefix(w.text, "--")
	if !isLong {
		name = w.text[1:]
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
				kind = plainOption
			} else if !known {
				return "gets the option " + show(w.text) + ", which is not known"
			}
			return r.value(w, kind, value, has)
		}
		return r.cluster(w, name)
	}
	kind, known := r.find(long)
	if !known || strings.Contains(long, Unknown) {
		return "gets the option " + show(w.text) + ", which is not known"
	}
	return r.value(w, kind, value, has)
}

// cluster reads options of one letter in one word.
func (r *argumentReader) cluster(w word, letters string) string {
	for i := 0; i < len(letters); i++ {
		kind, known := r.letters[letters[i]]
		switch {
		case letters[i] == Unknown[0] || !known && !r.any:
			return "gets the option " + show(w.text) + ", which is not known"
		case !known && r.asksAmong(letters[i:]):
			return "is asked about with " + show(w.text)
		case !known:
			return "" // the rest may be its value
		case kind == askingOption || kind == runOption:
			return "is asked about with " + show(w.text)
		case kind == plainOption:
			continue
		case kind == optionalOption || kind == inPlaceOption:
			return r.value(w, kind, letters[i+1:], true)
		}
		if letters[i] == 'e' && kind == textOption {
			r.script(letters[i+1:])
		}
		return r.value(w, kind, letters[i+1:], i+1 < len(letters))
	}
	return ""
}

// asksAmong reports whether letters may be options of which one asks, and not the value
// of the first.
func (r *argumentReader) asksAmong(letters string) bool {
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

func (r *argumentReader) script(text string) {
	if text != "" {
		r.scripts = append(r.scripts, word{text: text})
	} else if len(r.words) > 0 {
		r.scripts = append(r.scripts, r.words[0])
	}
}

// value reads the value of an option.
func (r *argumentReader) value(w word, kind byte, value string, has bool) string {
	switch kind {
	case askingOption, runOption:
		return "is asked about with " + show(w.text)
	case plainOption, optionalOption, inPlaceOption:
		if strings.Contains(value, Unknown) {
			return "gets an argument that is only known when it runs"
		}
		if value != "" {
			r.paths = append(r.paths, word{text: value})
		}
		return ""
	}
	v := word{text: value, split: w.split}
	if !has {
		if len(r.words) == 0 {
			return ""
		}
		v, r.words = r.words[0], r.words[1:]
	}
	switch {
	case kind == textOption && !v.split && v.glob == "":
		return ""
	case v.hidden() || v.split || v.glob != "":
		return "gets an argument that is only known when it runs"
	case kind == codeOption:
		r.code = append(r.code, v)
	case kind == moduleOption:
		r.module, r.operands, r.words = v.text, r.words, nil
	}
	if has {
		r.paths = append(r.paths, v)
	}
	return ""
}

// effectDanger says why a command is not known to be without danger, "" if it is.
func (s *shellLine) effectDanger(c *Command) string {
	switch {
	case c.wraps || c.Name == "" || slices.Contains(shells, c.Name) && c.ownName():
		return s.unknownArguments(c)
	case c.isOurs(): // judged by what it lists
		return ""
	case !c.ownName():
		return s.ownProgram(c)
	case s.commandReads(c, false) == "":
		return ""
	}
	name := c.Name
	if language := interpreter(name); language != "" {
		name = language
	}
	return s.knownDanger(c, name, c.words)
}

func (s *shellLine) knownDanger(c *Command, name string, words []word) string {
	e, words, full, why := effectOf(name, words)
	if why != "" {
		return why
	}
	if slices.Contains(tars, name) && len(words) > 0 && !strings.HasPrefix(words[0].text, "-") {
		words = slices.Clone(words)
		words[0].text = "-" + words[0].text // "tar cf x.tar"
	}
	said := show(strings.TrimSpace(strings.ReplaceAll(full, ">", " ")))
	r := argumentReader{effect: e, words: words}
	if why := r.read(); why != "" {
		return said + " " + why
	}
	for _, w := range slices.Concat(r.operands, words) {
		if slices.ContainsFunc(e.asks, func(t string) bool { return strings.Contains(w.text, t) }) {
			return said + " is asked about with " + show(w.text)
		}
	}
	if i := slices.IndexFunc(words, usesOddScheme); i >= 0 && (name == "curl" || name == "wget") {
		return said + " is asked about with " + show(words[i].text)
	}
	for _, w := range r.paths {
		if why := s.argumentDanger(c, w, true); why != "" {
			return why
		}
	}
	for _, w := range r.code {
		if !s.isCode(c.in, w) {
			return "what " + said + " runs is not in a file of the working folders"
		}
	}
	return s.operandDanger(c, said, full, &r)
}

var (
	anyScheme = regexp.MustCompile(`(?i)^(--url=)?[^/?#]*[a-z\]}]:/`)
	webScheme = regexp.MustCompile(`(?i)^(--url=)?https?://`)
)

// usesOddScheme reports whether an argument of curl may be an address of another kind
// than of the web, such as file:///etc/passwd.
func usesOddScheme(w word) bool {
	return anyScheme.MatchString(w.text) && !webScheme.MatchString(w.text)
}

// operandDanger judges the arguments that are not options.
func (s *shellLine) operandDanger(c *Command, said, full string, r *argumentReader) string {
	kind := r.effect.operands
	switch {
	case kind == "text":
		return textDanger(c.Name, said, r)
	case kind == "none" && len(r.operands) > 0:
		return said + " gets arguments that are not known"
	case r.module != "":
		return s.moduleDanger(c, r)
	case kind == "script" && len(r.operands) == 0 && !slices.ContainsFunc(c.Args, func(a string) bool { return slices.Contains(withoutScript, a) }):
		return "what " + said + " runs comes from its input"
	case kind == "script" && len(r.operands) > 0 && !s.isCode(c.in, r.operands[0]):
		return "what " + said + " runs is not in a file of the working folders"
	case kind == "command":
		if len(r.operands) == 0 || r.operands[0].unknown() {
			return "what " + said + " runs is not known"
		}
		inner := *c
		inner.path, inner.words, inner.Args, inner.all = r.operands[0].text, r.operands[1:], texts(r.operands[1:]), nil
		inner.Name = path.Base(inner.path)
		if strings.HasSuffix(inner.Name, ".py") {
			return s.ownProgram(&inner)
		}
		return s.commandDanger(&inner)
	case full == "git>checkout" && s.discards(c, r):
		return said + " may replace files by older ones"
	}
	for _, w := range r.operands {
		switch {
		case w.hidden() || w.split:
			return "what " + said + " works on is only known when it runs"
		case w.glob != "" && s.mayBeOption(c.in, w):
			return "a file that " + said + " gets may have the name of an option"
		case kind == "variables" && !plainVariable(w.text):
			return said + " is asked about with " + show(w.text)
		}
	}
	switch c.Name {
	case "sed", "gsed":
		return sedDanger(said, r)
	case "chmod":
		if len(r.operands) > 0 && grantsRights.MatchString(r.operands[0].text) {
			return said + " gives a program the rights of its owner"
		}
	}
	return ""
}

// withoutScript are the options with which interpreters read no program.
var withoutScript = strings.Fields("--version -version -V -h --help --test --ini")

var grantsRights = regexp.MustCompile(`^[^/]*s|^0*[2467][0-7]{3}$`)

// moduleDanger judges "python -m": a module that is known, or one of the project.
func (s *shellLine) moduleDanger(c *Command, r *argumentReader) string {
	for _, name := range []string{"python>" + r.module, r.module} {
		if effects()[name] != nil {
			return s.knownDanger(c, name, r.operands)
		}
	}
	w := word{text: strings.ReplaceAll(r.module, ".", "/")}
	for _, form := range []string{w.text, w.text + ".py"} {
		files, ok := s.files(c.in, word{text: form})
		if ok && len(files) > 0 && !slices.ContainsFunc(files, func(f string) bool { return !exists(f) || !s.inside(f) }) {
			return s.unknownArguments(c)
		}
	}
	return "the module " + show(r.module) + " is not one whose effects are known"
}

func texts(words []word) []string {
	out := make([]string, len(words))
	for i, w := range words {
		out[i] = w.text
	}
	return out
}

// isCode reports whether a word names a file of the working folders, which somebody
// could look at before it runs.
func (s *shellLine) isCode(in []workdir, w word) bool {
	return !w.hidden() && !w.split && w.glob == "" && w.text != "-" && !strings.Contains(w.text, ":") && !slices.Contains(streams, w.text) && s.within(in, w)
}

// ownProgram judges a program that is named by its path: one of the project, or a
// link to one of the system.
func (s *shellLine) ownProgram(c *Command) string {
	w := word{text: c.path}
	files, ok := s.files(c.in, w)
	if !ok {
		return "which program " + show(c.path) + " is, is only known when it runs"
	}
	for _, f := range files {
		real := RealPath(f)
		dir, base := path.Split(real)
		switch {
		case s.inside(f):
		case slices.Contains(trusted, dir):
			linked := *c
			linked.path, linked.Name = real, base
			if why := s.commandDanger(&linked); why != "" {
				return why
			}
		default:
			return show(c.path) + " is not known to be in the working folders"
		}
	}
	return s.unknownArguments(c)
}

// unknownArguments says that arguments of a command that may do anything with them
// are not known.
func (s *shellLine) unknownArguments(c *Command) string {
	if c.wraps { // they are those of the command that it runs
		return ""
	}
	if slices.ContainsFunc(c.words, func(w word) bool { return w.hidden() || w.split }) {
		return "what " + show(c.Name) + " works on is only known when it runs"
	}
	return ""
}

// discards reports whether "git checkout" may be about files instead of a branch.
func (s *shellLine) discards(c *Command, r *argumentReader) bool {
	if slices.ContainsFunc(c.words, func(w word) bool { return w.text == "-b" }) {
		return false
	}
	if len(r.operands) > 1 {
		return true
	}
	return slices.ContainsFunc(r.operands, func(w word) bool {
		files, ok := s.files(c.in, w)
		return !ok || slices.ContainsFunc(files, exists)
	})
}

// mayBeOption reports whether a pattern of files may stand for a name that begins
// with a dash.
func (s *shellLine) mayBeOption(in []workdir, w word) bool {
	if w.text == "" || strings.IndexByte("*?[", w.text[0]) < 0 {
		return false
	}
	dirs, ok := s.dirs(in)
	if !ok {
		return true
	}
	names, ok := s.expand(dirs, []word{w})
	return !ok || slices.ContainsFunc(names, func(n word) bool { return strings.HasPrefix(n.text, "-") })
}

// textDanger judges programs whose arguments are text, one of which may be a program.
func textDanger(name, said string, r *argumentReader) string {
	if name == "date" && slices.ContainsFunc(r.operands, func(w word) bool { return !strings.HasPrefix(w.text, "+") }) {
		return said + " may set the clock"
	}
	if strings.HasSuffix(name, "awk") {
		for _, w := range r.operands {
			if w.unknown() || w.split {
				return "what " + said + " runs is only known when it runs"
			}
		}
	}
	return ""
}

// sedDanger judges the scripts of sed.
func sedDanger(said string, r *argumentReader) string {
	scripts := r.scripts
	if len(scripts) == 0 && len(r.operands) > 0 {
		scripts = r.operands[:1]
	}
	if len(r.code) > 0 {
		return "what " + said + " runs is in a file"
	}
	for _, w := range scripts {
		if x, ok := readSed(w.text); !ok || x.runs || len(x.reads)+len(x.writes) > 0 {
			return "the program given to " + said + " may run or write anything"
		}
	}
	return ""
}

// plainVariable reports whether an argument of make is a target, or a variable whose
// value runs nothing.
func plainVariable(arg string) bool {
	name, value, is := strings.Cut(arg, "=")
	if !is {
		return true
	}
	if strings.HasPrefix(name, "MAKE") || strings.Contains(name, "SHELL") || strings.HasSuffix(name, "FLAGS") {
		return false
	}
	if _, bad := dangerous[path.Base(value)]; bad {
		return false
	}
	return strings.IndexFunc(value, func(r rune) bool {
		return !strings.ContainsRune("_.,:/@+%-", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}
