package shellscan

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/permission/internal/shellword"
	"mvdan.cc/sh/v3/syntax"
)

// Assignments.

// inertVars names variables that change no program that runs.
var inertVars = strings.Fields("LANG LANGUAGE TZ NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE CI DEBUG VERBOSE COLUMNS LINES GOOS GOARCH CGO_ENABLED GO111MODULE NODE_ENV RUST_BACKTRACE RUST_LOG PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE")

func ChangesNothing(name string) bool {
	if slices.Contains(inertVars, name) || strings.HasPrefix(name, "LC_") {
		return true
	}
	return name != "" && strings.ToLower(name) == name && !strings.HasSuffix(name, "_proxy") && !strings.HasPrefix(name, "npm_") && name != "_"
}

// steering names variables that decide which program runs or what it loads.
var steeringVars = strings.Fields("PATH IFS ENV CDPATH HOME PWD OLDPWD PS0 PS1 PS2 PS4 PROMPT_COMMAND SHELL SHELLOPTS GLOBIGNORE EXECIGNORE FIGNORE POSIXLY_CORRECT PAGER LESS LESSOPEN LESSCLOSE EDITOR VISUAL BROWSER MANPAGER TMPDIR GOFLAGS GOROOT GOPATH GOENV GOPROXY GOTOOLCHAIN CC CXX AR LD MAKEFLAGS MAKEFILES GNUMAKEFLAGS CLASSPATH RUBYOPT RUBYLIB RUSTC RUSTC_WRAPPER RUSTFLAGS RIPGREP_CONFIG_PATH TAR_OPTIONS XDG_CONFIG_HOME GREP_OPTIONS SUDO_ASKPASS SSH_ASKPASS GCONV_PATH LOCPATH GOCACHEPROG PKG_CONFIG GCCGO")

// numeric names variables whose values bash computes, and with them code in subscripts.
var numeric = strings.Fields("RANDOM SRANDOM SECONDS LINENO HISTCMD OPTIND OPTERR EPOCHSECONDS EPOCHREALTIME FUNCNEST HISTSIZE TMOUT UID EUID PPID")

var steeringPrefixes = strings.Fields("LD_ DYLD_ BASH GIT_ PERL PYTHON NODE_ npm_ JAVA_ _JAVA JDK_ MAVEN_ GRADLE_ LUA_ DOCKER_ CARGO_ SSH_ OPENAGENT_")

func steering(name string) bool {
	if ChangesNothing(name) {
		return false
	}
	return slices.Contains(steeringVars, name) || slices.ContainsFunc(steeringPrefixes, func(p string) bool { return strings.HasPrefix(name, p) }) ||
		strings.HasSuffix(strings.ToLower(name), "_proxy") || strings.Contains(name, "PRELOAD")
}

func (s *shell) assignName(name string) {
	if strings.Contains(name, shellword.Unknown) {
		s.fail("it sets a variable by a computed name")
	} else if slices.Contains(numeric, name) {
		s.fail("it sets %s, whose value the shell computes", name)
	} else if steering(name) {
		s.fail("it sets %s, which decides what programs do", name)
	}
	if !ChangesNothing(name) {
		s.stain("it sets the variable " + name)
	}
}

// setVar notes a variable that is set in another way than by an assignment. A
// rule has to allow it if programs may see it.
func (s *shell) setVar(name string, in []Workdir) {
	s.assignName(name)
	if !ChangesNothing(name) {
		s.add(Command{Env: []string{name + "=" + shellword.Unknown}, Raw: name, In: in, Set: []string{name}, Outer: s.outer})
	}
}

// assign returns an assignment as text, and the variable.
func (s *shell) assign(a *syntax.Assign, in []Workdir) (text, name string) {
	if a.Name == nil {
		return "", ""
	}
	name = a.Name.Value
	s.assignName(name)
	if a.Index != nil {
		s.fail("it sets an element of a variable")
		s.substitutions(a.Index, in)
	}
	text = name + "="
	if a.Value != nil {
		text += s.word(a.Value, in).Text
	}
	if a.Array != nil {
		for _, e := range a.Array.Elems {
			if e.Index != nil {
				s.fail("it sets an element of a variable")
				s.substitutions(e.Index, in)
			}
			if e.Value != nil {
				text += s.listed(e.Value, in).Text + " "
			}
		}
	}
	return text, name
}

func (s *shell) declare(c *syntax.DeclClause, in []Workdir) {
	cmd := Command{Name: c.Variant.Value, Path: c.Variant.Value, In: in, Outer: s.outer}
	if c.Variant.Value == "nameref" {
		s.fail("it makes a variable another name of one")
	}
	for _, a := range c.Args {
		if a.Name != nil && !a.Naked {
			text, _ := s.assign(a, in)
			cmd.Args, cmd.Words, cmd.Set = append(cmd.Args, text), append(cmd.Words, shellword.Word{Text: text}), append(cmd.Set, a.Name.Value)
			continue
		}
		w := shellword.Word{}
		switch {
		case a.Name != nil:
			w.Text = a.Name.Value
			s.assignName(a.Name.Value)
			if a.Index != nil {
				s.fail("it declares an element of a variable")
			}
		case a.Value != nil:
			w = s.word(a.Value, in)
		}
		if w.Unknown() || strings.HasPrefix(w.Text, "-") && strings.ContainsAny(w.Text, "in") || strings.ContainsAny(w.Text, "[=") {
			s.fail("it declares a variable in a way that may run code")
		}
		cmd.Args, cmd.Words = append(cmd.Args, w.Text), append(cmd.Words, w)
	}
	cmd.Raw = s.source(c)
	s.add(cmd)
}
