package effects

import "strings"

// Kinds of options, as the tables write them.
const (
	PlainOption    byte = '-' // without a value
	TextOption     byte = ':'
	pathOption     byte = '@'
	codeOption     byte = '^' // the value is a file of code
	OptionalOption byte = '?' // a value may follow in the same word
	moduleOption   byte = '%' // the value is a module of Python, its arguments follow
	askingOption   byte = '!'
	runOption      byte = '&' // a program or a text that runs follows
	writtenOption  byte = '>' // a path follows that the program writes
	outputOption   byte = '+' // a path follows that a build writes
	inPlaceOption  byte = '~' // writes the files that other arguments name; a value may follow in the same word
)

// Options are the options of a program.
type Options struct {
	letters map[byte]byte   // kinds of options of one letter
	long    map[string]byte // of others, without dashes
}

// Letter returns the kind of an option of one letter.
func (o *Options) Letter(letter byte) (kind byte, known bool) {
	kind, known = o.letters[letter]
	return kind, known
}

// Long returns the kind of an option with this full name.
func (o *Options) Long(name string) (kind byte, known bool) {
	kind, known = o.long[name]
	return kind, known
}

// None reports whether no option is known.
func (o *Options) none() bool { return len(o.letters)+len(o.long) == 0 }

// Matches reports whether an argument holds one of the options: one of the letters in a
// cluster, or the beginning of a long name.
func (o *Options) Matches(arg string) bool {
	if name, isLong := strings.CutPrefix(arg, "--"); isLong {
		name, _, _ = strings.Cut(name, "=")
		for full := range o.long {
			if name != "" && strings.HasPrefix(full, name) {
				return true
			}
		}
		return false
	}
	for i := 1; i < len(arg) && arg[0] == '-'; i++ {
		if _, known := o.letters[arg[i]]; known {
			return true
		}
	}
	return false
}

// add takes in a word of a row if it is an option, and returns its kind; 0 for others. With
// single, long options have one dash.
func (o *Options) add(r *row, word string, single bool) (kind byte) {
	if o.letters == nil {
		o.letters, o.long = map[byte]byte{}, map[string]byte{}
	}
	option, kind := optionKind(word)
	if len(option) < 2 || option[0] != '-' {
		return 0
	}
	name, isLong := strings.CutPrefix(option, "--")
	if !isLong && isWord(option[1:], kind, single) {
		name, isLong = option[1:], true
	}
	if isLong {
		if _, twice := o.long[name]; twice {
			r.fail("the option %s is listed twice: remove one", word)
		}
		o.long[name] = kind
		return kind
	}
	for i := 1; i < len(option); i++ {
		if _, twice := o.letters[option[i]]; twice {
			r.fail("the option -%c is listed twice: remove one", option[i])
		}
		o.letters[option[i]] = kind
	}
	return kind
}

// optionKind splits a word into an option and its kind.
func optionKind(word string) (option string, kind byte) {
	if option, runs := strings.CutPrefix(word, "!!"); runs {
		return option, runOption
	}
	if option, asks := strings.CutPrefix(word, "!"); asks {
		return option, askingOption
	}
	if last := len(word) - 1; last > 1 && strings.IndexByte(":=@^?%>+~", word[last]) >= 0 {
		if kind = word[last]; kind == '=' {
			kind = TextOption
		}
		return word[:last], kind
	}
	return word, PlainOption
}

// isWord reports whether the text after one dash is the name of one option, and not the
// letters of several.
func isWord(option string, kind byte, single bool) bool {
	return single || len(option) > 1 && (kind == askingOption || kind == runOption || strings.Contains(option, "-"))
}
