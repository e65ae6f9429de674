package main

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/openagent-go/agent/tool"
)

// A flag is one option of a command. Parsing, help, completion and errors are
// all made from it.
type flag struct {
	name  string // without dashes
	short byte   // 0: none
	arg   string // what its value is called; "": it takes none
	help  string
	words []string // the values to choose from, where there is such a list
	path  bool     // the value is a path
	set   func(value string) error
}

type flags []flag

// parse reads flags, which may stand before and after other arguments, up to
// "--". It returns the other arguments.
func (fs flags) parse(args []string) (rest []string, err error) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			return append(rest, args...), nil
		case strings.HasPrefix(arg, "--"):
			args, err = fs.long(arg, args)
		case len(arg) > 1 && arg[0] == '-':
			args, err = fs.cluster(arg, args)
		default:
			rest = append(rest, arg)
		}
		if err != nil {
			return nil, err
		}
	}
	return rest, nil
}

// long reads a flag such as --model NAME or --model=NAME.
func (fs flags) long(arg string, args []string) ([]string, error) {
	name, value, assigned := strings.Cut(arg[2:], "=")
	f, ok := fs.named(name)
	switch {
	case !ok:
		return nil, usagef("unknown flag --%s%s", clip(name), fs.suggest(name))
	case f.arg == "" && assigned:
		return nil, usagef("--%s takes no value: leave out %q", f.name, clip("="+value))
	case f.arg != "" && !assigned:
		if len(args) == 0 || fs.isFlag(args[0]) {
			return nil, fs.missing("--"+f.name, f)
		}
		value, args = args[0], args[1:]
	}
	return args, f.apply("--"+f.name, value)
}

// cluster reads short flags such as -p, -pc, -r ID and -rID.
func (fs flags) cluster(arg string, args []string) ([]string, error) {
	for i := 1; i < len(arg); i++ {
		shown := "-" + arg[i:i+1]
		f, ok := fs.letter(arg[i])
		if !ok {
			return nil, usagef("unknown flag %s in %q; a prompt that begins with a dash goes after --", strings.ToValidUTF8(shown, "?"), clip(arg))
		}
		if f.arg == "" {
			if err := f.apply(shown, ""); err != nil {
				return nil, err
			}
			continue
		}
		value := strings.TrimPrefix(arg[i+1:], "=")
		if value == "" {
			if len(args) == 0 || fs.isFlag(args[0]) {
				return nil, fs.missing(shown, f)
			}
			value, args = args[0], args[1:]
		}
		return args, f.apply(shown, value)
	}
	return args, nil
}

func (f flag) apply(shown, value string) error {
	if err := f.set(value); err != nil {
		return usagef("%s: %v", shown, err)
	}
	return nil
}

func (fs flags) missing(shown string, f flag) error {
	return usagef("%s needs a value: %s %s", shown, shown, f.arg)
}

func (fs flags) named(name string) (flag, bool) {
	for _, f := range fs {
		if f.name == name {
			return f, true
		}
	}
	return flag{}, false
}

func (fs flags) letter(c byte) (flag, bool) {
	for _, f := range fs {
		if f.short != 0 && f.short == c {
			return f, true
		}
	}
	return flag{}, false
}

// isFlag reports whether a value is rather a flag whose forerunner lacks its value.
func (fs flags) isFlag(arg string) bool {
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

func (fs flags) suggest(name string) string {
	if len(name) < 100 {
		names := make([]string, len(fs))
		for i, f := range fs {
			names[i] = f.name
		}
		if best := tool.Nearest(name, names); best != "" {
			return fmt.Sprintf("; did you mean --%s?", best)
		}
	}
	return "; see openagent --help"
}

// usage lists the flags for people.
func (fs flags) usage(w *strings.Builder) {
	const most = 38 // characters of a flag beside its help; longer ones have a line of their own
	left := make([]string, len(fs))
	width := 0
	for i, f := range fs {
		names := "    "
		if f.short != 0 {
			names = "-" + string(f.short) + ", "
		}
		names += "--" + f.name
		if f.arg != "" {
			names += " " + f.arg
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
		fmt.Fprintf(w, "  %-*s  %s\n", width, left[i], f.help)
	}
}

// clip shortens what the user wrote for an error in one line.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}
