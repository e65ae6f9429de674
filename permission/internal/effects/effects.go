// Package effects knows what programs do: which read, write, build, run others, delete or
// reach the network, and which of their options and arguments matter. It looks at names
// and words alone, never at files.
package effects

import (
	_ "embed"
	"slices"
	"strings"
	"sync"

	"github.com/openagent-go/agent/permission/internal/shellword"
)

// What programs may do, as the mode Auto knows it: see effects.txt.

//go:embed effects.txt
var effectsText string

// An Effect is what is known of a program, or of a subcommand of one.
type Effect struct {
	letters  map[byte]byte   // kinds of options of one letter, see the kinds
	long     map[string]byte // of others, without dashes
	any      bool            // options that are not listed change nothing that matters
	single   bool            // long options may have one dash
	Operands string
	Asks     []string // texts of arguments that ask
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

var Effects = sync.OnceValue(func() map[string]*Effect {
	table := map[string]*Effect{}
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

func newEffect(tokens []string) *Effect {
	e := &Effect{letters: map[byte]byte{}, long: map[string]byte{}, single: slices.Contains(tokens, "single")}
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
			e.Asks = append(e.Asks, t[1:])
		case strings.HasPrefix(option, "--"):
			e.long[option[2:]] = kind
		case option[0] == '-' && e.isWord(option[1:], kind):
			e.long[option[1:]] = kind
		case option[0] == '-':
			for i := 1; i < len(option); i++ {
				e.letters[option[i]] = kind
			}
		default:
			e.Operands = t
		}
	}
	return e
}

// isWord reports whether what follows one dash is the name of one option, and not
// letters of several.
func (e *Effect) isWord(option string, kind byte) bool {
	return e.single || len(option) > 1 && (kind == askingOption || kind == runOption || strings.Contains(option, "-"))
}

// find returns the kind of a long option. Like getopt_long and git, it takes the
// beginning of a name for the one name that begins so. known is false for others.
func (e *Effect) find(name string) (kind byte, known bool) {
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

// Lookup returns what is known of a command, and its arguments without those that
// name a subcommand; nil and why if nothing is.
func Lookup(name string, words []shellword.Word) (e *Effect, rest []shellword.Word, full, why string) {
	e = Effects()[name]
	if e == nil {
		return nil, nil, name, shellword.Show(name) + " is not a program whose effects are known"
	}
	full = name
	for e.Operands == "subs" {
		r := Arguments{Effect: e, Words: words, stop: true}
		if why := r.Read(); why != "" {
			return nil, nil, full, shellword.Show(full) + " " + why
		}
		sub := ""
		if words = r.Words; len(words) > 0 {
			if w := words[0]; w.Unknown() || w.Glob != "" {
				return nil, nil, full, "what " + shellword.Show(full) + " does is only known when it runs"
			}
			sub, words = words[0].Text, words[1:]
		}
		next := Effects()[full+">"+sub]
		if next == nil && sub == "" {
			return &Effect{}, nil, full, "" // it says how it is used
		}
		if next == nil {
			return nil, nil, full, shellword.Show(full+" "+sub) + " is not a command whose effects are known"
		}
		e, full = next, full+">"+sub
	}
	return e, words, full, ""
}

// Steered names the programs that have such options.
var Steered = sync.OnceValue(func() map[string]bool {
	names := map[string]bool{"uniq": true, "xxd": true}
	for name, e := range Effects() {
		if e.steers || e.Operands == "command" {
			program, _, _ := strings.Cut(name, ">")
			names[program] = true
		}
	}
	return names
})

// HasOption reports whether a command is known to have a long option of just that name.
func HasOption(name string, words []shellword.Word, option string) bool {
	e, _, _, _ := Lookup(name, words)
	if e == nil {
		return false
	}
	_, exact := e.long[option]
	return exact
}

// Known reports whether anything is known of a program.
func Known(name string) bool { return Effects()[name] != nil }
