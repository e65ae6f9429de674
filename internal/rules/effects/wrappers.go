package effects

import (
	_ "embed"
	"strings"
)

//go:embed wrappers.txt
var wrappersTable string

// A Wrapper is a program that runs the command given in its arguments: see wrappers.txt.
type Wrapper struct {
	Options
	Words       int  // in front of the inner command
	Assignments bool // NAME=value may stand in front of the inner command
	OtherRights bool // the inner command gets other rights, so a rule must name the wrapper
}

func readWrappers() map[string]*Wrapper {
	table := map[string]*Wrapper{}
	for _, r := range readTable("wrappers.txt", wrappersTable) {
		w := newWrapper(&r)
		for _, name := range r.names {
			table[name] = w
		}
	}
	return table
}

func newWrapper(r *row) *Wrapper {
	x := &Wrapper{}
	for _, w := range r.words {
		switch kind := x.add(r, w, false); {
		case kind == PlainOption || kind == TextOption || kind == OptionalOption:
		case kind != 0:
			r.fail("the option %s is of a kind that wrappers do not have: use none, \":\", \"=\" or \"?\"", w)
		case strings.HasPrefix(w, "words="):
			x.Words = r.count(w)
		case w == "assignments":
			x.Assignments = true
		case w == "rights":
			x.OtherRights = true
		default:
			r.unknown(w)
		}
	}
	return x
}

// WrapperOf returns how a program runs the command given in its arguments; false for
// other programs.
func WrapperOf(name string) (*Wrapper, bool) {
	w, ok := known().wrappers[name]
	return w, ok
}

// IsWrapper reports whether a program runs the command given in its arguments.
func IsWrapper(name string) bool {
	_, wraps := known().wrappers[name]
	return wraps
}

//go:embed runs.txt
var runsTable string

func readRunOptions() map[string]*Options {
	table := map[string]*Options{}
	for _, r := range readTable("runs.txt", runsTable) {
		o := onlyOptions(&r)
		for _, name := range r.names {
			table[name] = o
		}
	}
	return table
}

// RunOptions returns the options by which a program runs another one; nil for none.
func RunOptions(name string) *Options { return known().runOptions[name] }

func onlyOptions(r *row) *Options {
	o := &Options{}
	for _, w := range r.words {
		if o.add(r, w, false) == 0 {
			r.unknown(w)
		}
	}
	return o
}

//go:embed ssh.txt
var sshTable string

type sshRows struct {
	sshOptions  *Options
	sshSettings set
}

func readSSH() sshRows {
	l := readLists("ssh.txt", sshTable)
	s := sshRows{onlyOptions(&row{file: "ssh.txt", names: []string{"options"}, words: l.take("options")}), l.takeSet("settings")}
	l.done("ssh.txt")
	return s
}

// SSHOption returns the kind of an option of ssh; false if it is not known.
func SSHOption(letter byte) (kind byte, is bool) { return known().sshOptions.Letter(letter) }

// SSHSetting reports whether a setting of ssh starts no program on this machine. Its name
// is in small letters.
func SSHSetting(name string) bool { return known().sshSettings[name] }
