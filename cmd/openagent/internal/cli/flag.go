package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/text"
)

// A Flag is one option of a command. Parsing, help, completion and errors all use it.
type Flag struct {
	Name  string // without dashes
	Short byte   // 0: none
	Arg   string // the name of its value; "": the flag takes none
	Help  string
	Words []string // the allowed values, if the list is fixed
	Path  bool     // the value is a path
	Set   func(value string) error
	Bare  func() error // applies the flag without a value; nil: it needs one
	// Aliases are other spellings of Name. Help and completion leave them out.
	Aliases []string
	// Hidden leaves the flag out of help and completion: programs give it.
	Hidden bool

	elsewhere string // the commands that accept the flag, if this command does not
}

// ArgText is the name of the flag's value for people, in brackets if it may be left out.
func (f Flag) ArgText() string {
	if f.Bare != nil {
		return "[" + f.Arg + "]"
	}
	return f.Arg
}

// Flags are the flags of a command.
type Flags []Flag

// Parse reads flags up to "--" and returns the other arguments. Flags may stand before or after
// them.
func (fs Flags) Parse(args []string) (rest []string, err error) {
	rest, _, err = fs.parse(args)
	return rest, err
}

// parse is Parse. It also returns how many of the other arguments stand before "--".
func (fs Flags) parse(args []string) (rest []string, words int, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			return append(rest, args...), len(rest), nil
		case strings.HasPrefix(arg, "--"):
			args, err = fs.long(arg, args)
		case len(arg) > 1 && arg[0] == '-':
			args, err = fs.cluster(arg, args)
		default:
			rest = append(rest, arg)
		}
		if err != nil {
			return nil, 0, err
		}
	}
	return rest, len(rest), nil
}

// parseWithHelp reads flags and reports whether --help is among them. With --help it returns no
// error.
func (fs Flags) parseWithHelp(args []string) (rest []string, words int, help bool, err error) {
	for i := range fs {
		if fs[i].Name == "help" {
			fs[i].Set = SetTrue(&help)
		}
	}
	if rest, words, err = fs.parse(args); help {
		err = nil
	}
	return rest, words, help, err
}

// inert returns copies of flags that set nothing.
func (fs Flags) inert() Flags {
	fs = slices.Clone(fs)
	for i := range fs {
		fs[i].Set = func(string) error { return nil }
		if fs[i].Bare != nil {
			fs[i].Bare = func() error { return nil }
		}
	}
	return fs
}

// firstWord returns the index of the first argument that is neither a flag nor a flag's value, or
// -1.
func (fs Flags) firstWord(args []string) int {
	fs = fs.inert()
	for at := 0; at < len(args); {
		arg := args[at]
		if arg == "--" {
			at++
		}
		if at == len(args) {
			return -1
		}
		if arg == "--" || len(arg) < 2 || arg[0] != '-' {
			return at
		}
		read := fs.cluster
		if strings.HasPrefix(arg, "--") {
			read = fs.long
		}
		left, err := read(arg, args[at+1:])
		if err != nil {
			return -1
		}
		at = len(args) - len(left)
	}
	return -1
}

// Named returns the flags with the given names.
func (fs Flags) Named(names ...string) Flags {
	var some Flags
	for _, f := range fs {
		if slices.Contains(names, f.Name) {
			some = append(some, f)
		}
	}
	return some
}

// long reads a flag such as --model NAME or --model=NAME.
func (fs Flags) long(arg string, args []string) ([]string, error) {
	name, value, assigned := strings.Cut(arg[2:], "=")
	f, ok := fs.named(name)
	switch {
	case !ok:
		return nil, Usagef("unknown flag --%s%s", Clip(name), fs.suggest(name))
	case f.Arg == "" && assigned:
		return nil, Usagef("--%s takes no value; leave out %q", f.Name, Clip("="+value))
	case f.Arg != "" && !assigned:
		if fs.lacksValue(f, args) {
			return fs.bare("--"+f.Name, f, args)
		}
		value, args = args[0], args[1:]
	}
	return args, f.apply("--"+f.Name, value)
}

// cluster reads short flags such as -p, -pc, -r ID and -rID.
func (fs Flags) cluster(arg string, args []string) ([]string, error) {
	for i := 1; i < len(arg); i++ {
		shown := "-" + arg[i:i+1]
		f, ok := fs.letter(arg[i])
		if !ok {
			return nil, Usagef("unknown flag %s in %q; write a prompt that begins with a dash after --", strings.ToValidUTF8(shown, "?"), Clip(arg))
		}
		if f.Arg == "" {
			if err := f.apply(shown, ""); err != nil {
				return nil, err
			}
			continue
		}
		value := strings.TrimPrefix(arg[i+1:], "=")
		if value == "" {
			if fs.lacksValue(f, args) {
				return fs.bare(shown, f, args)
			}
			value, args = args[0], args[1:]
		}
		return args, f.apply(shown, value)
	}
	return args, nil
}

func (f Flag) apply(shown, value string) error {
	if f.elsewhere != "" {
		return Usagef("--%s is a flag of %s", f.Name, f.elsewhere)
	}
	if err := f.Set(value); err != nil {
		return Usagef("%s: %v", shown, err)
	}
	return nil
}

// lacksValue reports whether the arguments after a flag do not begin with its value.
func (fs Flags) lacksValue(f Flag, args []string) bool {
	return len(args) == 0 || fs.isFlag(args[0]) || f.Bare != nil && args[0] == "--"
}

// bare applies a flag without a value, and returns the arguments after it.
func (fs Flags) bare(shown string, f Flag, args []string) ([]string, error) {
	if f.Bare == nil || f.elsewhere != "" {
		return nil, fs.missing(shown, f)
	}
	return args, f.Bare()
}

func (fs Flags) missing(shown string, f Flag) error {
	return Usagef("%s needs a value: %s %s", shown, shown, f.Arg)
}

func (fs Flags) named(name string) (Flag, bool) {
	for _, f := range fs {
		if f.Name == name || slices.Contains(f.Aliases, name) {
			return f, true
		}
	}
	return Flag{}, false
}

// shown returns the flags of help pages and completion.
func (fs Flags) shown() Flags {
	return slices.DeleteFunc(slices.Clone(fs), func(f Flag) bool { return f.Hidden })
}

func (fs Flags) letter(c byte) (Flag, bool) {
	for _, f := range fs {
		if f.Short != 0 && f.Short == c {
			return f, true
		}
	}
	return Flag{}, false
}

// isFlag reports whether a value is another flag, so that the flag before it lacks its value.
func (fs Flags) isFlag(arg string) bool {
	if name, ok := strings.CutPrefix(arg, "--"); ok {
		name, _, _ = strings.Cut(name, "=")
		_, known := fs.named(name)
		return known
	}
	if len(arg) == 2 && arg[0] == '-' {
		_, known := fs.letter(arg[1])
		return known
	}
	return false
}

func (fs Flags) suggest(name string) string {
	if len(name) < 100 {
		var names []string
		for _, f := range fs.shown() {
			names = append(names, f.Name)
		}
		if best := text.Nearest(name, names); best != "" {
			return fmt.Sprintf("; did you mean --%s?", best)
		}
	}
	return "; see openagent help flags"
}

// usage lists the flags for the help page.
func (fs Flags) usage(w *strings.Builder) {
	const most = 38 // width of the flag column; a longer flag gets a line of its own
	fs = fs.shown()
	left := make([]string, len(fs))
	width := 0
	for i, f := range fs {
		names := "    "
		if f.Short != 0 {
			names = "-" + string(f.Short) + ", "
		}
		names += "--" + f.Name
		if f.Arg != "" {
			names += " " + f.ArgText()
		}
		left[i] = names
		if n := utf8.RuneCountInString(names); n <= most {
			width = max(width, n)
		}
	}
	for i, f := range fs {
		if utf8.RuneCountInString(left[i]) > most {
			fmt.Fprintf(w, "  %s\n", left[i])
			left[i] = ""
		}
		fmt.Fprintf(w, "  %-*s  %s\n", width, left[i], f.Help)
	}
}
