// Package effects knows what programs do: which read, write, build, run others, delete or
// reach the network, and which of their options and arguments matter. It looks at names
// and words alone, never at files.
package effects

import (
	_ "embed"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/shellword"
)

//go:embed effects.txt
var effectsTable string

// An Effect is what mode auto knows of a program, or of a subcommand of one.
type Effect struct {
	Options
	any      bool     // options without an entry change nothing that matters
	single   bool     // long options may have one dash
	Operands string   // what the other arguments are
	Asks     []string // mode auto asks about arguments that hold one of these texts
	steers   bool     // options run programs or write files
}

// operandKinds are the words for the arguments that are not options.
var operandKinds = []string{"paths", "text", "none", "script", "command", "subs", "variables"}

// Effects returns what mode auto knows of programs: see effects.txt.
func Effects() map[string]*Effect { return known().effects }

func readEffects() map[string]*Effect {
	table := map[string]*Effect{}
	for _, r := range readTable("effects.txt", effectsTable) {
		e := newEffect(&r)
		for _, name := range r.names {
			table[name] = e
		}
	}
	return table
}

func newEffect(r *row) *Effect {
	e := &Effect{single: slices.Contains(r.words, "single")}
	for _, w := range r.words {
		switch kind := e.add(r, w, e.single); {
		case kind != 0:
			e.steers = e.steers || kind == runOption || kind == writtenOption || kind == outputOption || kind == inPlaceOption
		case w == "*":
			e.any = true
		case w == "single":
		case w[0] == '/' && len(w) > 1:
			e.Asks = append(e.Asks, w[1:])
		default:
			e.Operands = r.operands(w, e.Operands, operandKinds)
		}
	}
	if e.Operands == "" {
		r.fail("a word for the other arguments is missing, such as paths")
	}
	return e
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
	return PlainOption, e.any && found == 0
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

// Lookup returns the row of a command, and its arguments without those that name a
// subcommand. Without a row it returns nil and why.
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

// IsSteered reports whether options of a program run programs or write files.
func IsSteered(name string) bool { return known().steered[name] }

func findSteered(all map[string]*Effect) set {
	names := set{"uniq": true, "xxd": true} // the second argument is written
	for name, e := range all {
		if e.steers || e.Operands == "command" {
			program, _, _ := strings.Cut(name, ">")
			names[program] = true
		}
	}
	return names
}

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
