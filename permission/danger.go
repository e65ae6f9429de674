package permission

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/guarded"
)

// What the mode Auto leaves to a person.

// dangerous names programs that delete, take other rights, end or change what is
// not theirs, or carry work to other machines, with the word for it.
var dangerous = map[string]string{}

func init() {
	for what, names := range map[string]string{
		"deletes":                      "rm rmdir unlink shred truncate dd wipefs fdisk parted sgdisk dropdb wipe srm",
		"acts with other rights":       "sudo doas su pkexec runuser chroot chown chgrp chattr setfacl chflags visudo passwd useradd userdel usermod groupadd mount umount insmod rmmod modprobe sysctl iptables nft ufw systemctl service launchctl",
		"ends processes":               "kill pkill killall skill shutdown reboot halt poweroff init telinit",
		"reaches other machines":       "ssh scp sftp nc ncat netcat socat telnet ftp rsync",
		"runs what it fetches":         "npx pnpx bunx uvx",
		"runs what is typed or quoted": "vi vim nvim ex ed emacs nano less more osascript expect",
	} {
		for n := range strings.FieldsSeq(names) {
			dangerous[n] = what
		}
	}
}

var interpreters = strings.Fields("python pypy perl ruby node nodejs php lua luajit deno bun tclsh Rscript")

// interpreter returns the name of an interpreter without its version, "" if the
// program is none.
func interpreter(name string) string {
	name = strings.TrimRight(name, "0123456789.")
	if slices.Contains(interpreters, name) {
		return name
	}
	return ""
}

// writers are programs whose arguments name files that they change.
var writers = strings.Fields("cp mv tee install ln touch mkdir chmod sed split csplit tar unzip gunzip gzip patch")

// danger says what makes the line dangerous, "" if nothing is known to.
func (s *shellLine) danger() string {
	if s.Unclear != "" {
		return notUnderstood + s.Unclear
	}
	for _, r := range s.Redirects {
		if !s.within(r.in, r.word) {
			return show(r.Path) + " is not known to be in the working folders"
		}
		if r.Write && s.guardedWord(r.in, r.word) {
			return show(r.Path) + " decides what runs later"
		}
	}
	for i := range s.List {
		if why := s.commandDanger(&s.List[i]); why != "" {
			return why
		}
	}
	return ""
}

func (s *shellLine) commandDanger(c *Command) string {
	if what, ok := dangerous[c.Name]; ok {
		return show(c.Name) + " " + what
	}
	if strings.HasPrefix(c.Name, "mkfs") || strings.HasPrefix(c.Name, "newfs") {
		return show(c.Name) + " deletes"
	}
	if c.isOurs() && !c.lists() {
		return show(c.Name) + " may change what is permitted, or run with other permissions"
	}
	if programs(c) {
		return "the program given to " + c.Name + " may run or write anything"
	}
	if c.Name == "git" && (len(c.words) > 0 && c.words[0].unknown() || c.has("push") && slices.ContainsFunc(c.Args, func(a string) bool { return strings.HasPrefix(a, "+") || strings.HasPrefix(a, ":") })) {
		return show(c.text()) + " may delete"
	}
	dirs, ok := s.dirs(c.in)
	switch {
	case !ok:
		return show(c.Name) + " runs in a folder that is not known"
	case slices.ContainsFunc(dirs, func(d string) bool { return !s.inside(d) }):
		return show(c.Name) + " runs outside of the working folders"
	}
	if i := slices.IndexFunc(c.set, steersProgram); i >= 0 {
		return "the variable " + show(c.set[i]) + " may name a program"
	}
	if why := s.effectDanger(c); why != "" {
		return why
	}
	writes := s.commandReads(c, false) != ""
	if c.Name == "echo" || c.Name == "printf" {
		return "" // they open no file
	}
	script := c.scriptWord()
	for i, w := range c.words {
		if i == script {
			continue
		}
		if why := s.argumentDanger(c, w, writes); why != "" {
			return why
		}
	}
	return ""
}

// scripted are programs whose first argument is a script or a pattern, unless an
// option gives it.
var scripted = strings.Fields("sed gsed awk gawk mawk nawk grep egrep fgrep rg")

// scriptWord returns the index of the argument that is a script or a pattern, and no
// path; -1 for none.
func (c *Command) scriptWord() int {
	e := effects()[c.Name]
	if !slices.Contains(scripted, c.Name) || e == nil {
		return -1
	}
	r := argumentReader{effect: e, words: c.words, stop: true}
	if r.read() != "" || len(r.words) == 0 || len(r.scripts) > 0 || slices.ContainsFunc(c.Args, givesScript) {
		return -1
	}
	return len(c.words) - len(r.words)
}

func givesScript(arg string) bool {
	if name, long := strings.CutPrefix(arg, "--"); long {
		name, _, _ = strings.Cut(name, "=")
		return slices.ContainsFunc([]string{"expression", "file", "files", "regexp", "source", "type-list"}, func(o string) bool { return strings.HasPrefix(o, name) })
	}
	return strings.HasPrefix(arg, "-") && strings.ContainsAny(arg, "ef")
}

func (s *shellLine) argumentDanger(c *Command, w word, writes bool) string {
	if writes && w.unknown() && slices.Contains(writers, c.Name) && !w.home {
		return "what " + c.Name + " changes is only known when it runs"
	}
	for _, v := range pathForms(w) {
		if strings.Contains(v.text, "://") || v.text == "-" || slices.Contains(streams, v.text) {
			continue
		}
		files, known := s.files(c.in, v)
		if !known && v.glob != "" && !v.unknown() {
			files, _, known = s.reach(c.in, v)
		}
		leaves := slices.ContainsFunc(files, func(f string) bool { return !s.inside(f) })
		if !known { // what is relative is taken to stay in the folder
			leaves = v.home || strings.HasPrefix(v.text, "/") || strings.HasPrefix(v.text, "~") || strings.Contains(v.text, "..")
		}
		if leaves {
			return show(v.text) + " is not known to be in the working folders"
		}
		if writes && (s.guardedWord(c.in, v) || slices.Contains(replacers, c.Name) && s.holdsGuarded(c.in, v)) {
			return show(v.text) + " decides what runs later"
		}
	}
	return ""
}

// guardedWord reports whether a word names a file that decides what runs later.
func (s *shellLine) guardedWord(in []workdir, w word) bool {
	files, ok := s.files(in, w)
	return ok && slices.ContainsFunc(files, s.guards)
}

// replacers are programs that put a file or folder in the place of another, with all
// that is in it.
var replacers = strings.Fields("cp mv ln install")

// holdsGuarded reports whether a word names a folder of which a part decides what
// runs later, such as .github.
func (s *shellLine) holdsGuarded(in []workdir, w word) bool {
	files, ok := s.files(in, w)
	return ok && slices.ContainsFunc(files, func(f string) bool { return guarded.MayHold(segments(f)) })
}

// ourLists are the uses of the command openagent that show what there is, by its
// first argument. A use without a second argument shows a list as well.
var ourLists = map[string][]string{
	"cron": {"list", "next"}, "tools": {"list", "show", "stats"}, "trust": {"list"}, "config": {"list", "get", "explain", "path"},
	"sessions": {"list"}, "triggers": {"list"},
}

// isOurs reports whether the command is openagent, by which permissions can be
// given and used that the call at hand does not have.
func (c *Command) isOurs() bool {
	return strings.TrimSuffix(strings.ToLower(c.Name), ".exe") == "openagent"
}

// lists reports whether the command openagent only shows what there is, with the
// home folder and the settings that it has anyway.
func (c *Command) lists() bool {
	if len(c.Env) > 0 || c.outer > 0 || len(c.Args) == 0 || slices.ContainsFunc(c.words, word.hidden) {
		return false
	}
	var args []string
	for i := 0; i < len(c.Args); i++ {
		switch a := c.Args[i]; {
		case i > 0 && a == "--output-format":
			i++
		case i > 0 && strings.HasPrefix(a, "-") && !strings.HasPrefix(a, "--output-format="):
			return false
		default:
			args = append(args, a)
		}
	}
	switch args[0] {
	case "version", "--version", "--help", "-h", "models":
		return len(args) == 1
	case "help":
		return true
	}
	verbs, known := ourLists[args[0]]
	return known && (len(args) == 1 || slices.Contains(verbs, args[1]))
}

// has reports whether an argument is in the command; a flag of one letter may be
// in a cluster, and a long flag may have a value.
func (c *Command) has(arg string) bool {
	return slices.ContainsFunc(c.Args, func(a string) bool {
		switch {
		case a == arg || strings.HasPrefix(arg, "--") && strings.HasPrefix(a, arg+"="):
			return true
		case len(arg) == 2 && arg[0] == '-' && arg[1] != '-' && len(a) > 1 && a[0] == '-' && a[1] != '-':
			return strings.Contains(a[1:], arg[1:])
		}
		return false
	})
}

// programs reports whether the command interprets a program in its arguments
// that may do more than transform text.
func programs(c *Command) bool {
	switch c.Name {
	case "awk", "gawk", "mawk", "nawk":
		return slices.ContainsFunc(c.Args, func(a string) bool {
			return strings.Contains(a, "system") || strings.ContainsAny(a, "|>@"+Unknown) || strings.Contains(a, "getline")
		})
	}
	return false
}

// steersProgram reports whether a variable says, by its name, which program another
// one starts.
func steersProgram(name string) bool {
	return slices.ContainsFunc(steeringEnds, func(end string) bool { return strings.HasSuffix(name, end) })
}

var steeringEnds = strings.Fields("EDITOR PAGER SHELL BROWSER ASKPASS _COMMAND _CMD WRAPPER RUNNER _OPTIONS _OPTS _ARGS FLAGS RUBYLIB RUBYOPT CC CXX LD PATH _HOME _DIRS _ROOT TERMINFO TERMCAP INPUTRC HISTFILE MALLOC_TRACE")
