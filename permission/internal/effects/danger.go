package effects

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/permission/internal/shellword"
)

// What the mode Auto leaves to a person.

// Dangerous names programs that delete, take other rights, end or change what is
// not theirs, or carry work to other machines, with the word for it.
var Dangerous = map[string]string{}

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
			Dangerous[n] = what
		}
	}
}

var interpreters = strings.Fields("python pypy perl ruby node nodejs php lua luajit deno bun tclsh Rscript")

// Interpreter returns the name of an interpreter without its version, "" if the
// program is none.
func Interpreter(name string) string {
	name = strings.TrimRight(name, "0123456789.")
	if slices.Contains(interpreters, name) {
		return name
	}
	return ""
}

// writers are programs whose arguments name files that they change.
var writers = strings.Fields("cp mv tee install ln touch mkdir chmod sed split csplit tar unzip gunzip gzip patch")

// scripted are programs whose first argument is a script or a pattern, unless an
// option gives it.
var scripted = strings.Fields("sed gsed awk gawk mawk nawk grep egrep fgrep rg")

// ScriptWord returns the index of the argument that is a script or a pattern, and no
// path; -1 for none.
func ScriptWord(name string, words []shellword.Word) int {
	e := Effects()[name]
	if !slices.Contains(scripted, name) || e == nil {
		return -1
	}
	r := Arguments{Effect: e, Words: words, stop: true}
	if r.Read() != "" || len(r.Words) == 0 || len(r.scripts) > 0 || slices.ContainsFunc(words, func(w shellword.Word) bool { return givesScript(w.Text) }) {
		return -1
	}
	return len(words) - len(r.Words)
}

func givesScript(arg string) bool {
	if name, long := strings.CutPrefix(arg, "--"); long {
		name, _, _ = strings.Cut(name, "=")
		return slices.ContainsFunc([]string{"expression", "file", "files", "regexp", "source", "type-list"}, func(o string) bool { return strings.HasPrefix(o, name) })
	}
	return strings.HasPrefix(arg, "-") && strings.ContainsAny(arg, "ef")
}

// replacers are programs that put a file or folder in the place of another, with all
// that is in it.
var replacers = strings.Fields("cp mv ln install")

// RunsOrWrites reports whether a program interprets a program in its arguments that may
// do more than transform text.
func RunsOrWrites(name string, args []string) bool {
	switch name {
	case "awk", "gawk", "mawk", "nawk":
		return slices.ContainsFunc(args, func(a string) bool {
			return strings.Contains(a, "system") || strings.ContainsAny(a, "|>@"+shellword.Unknown) || strings.Contains(a, "getline")
		})
	}
	return false
}

// SteersProgram reports whether a variable says, by its name, which program another
// one starts.
func SteersProgram(name string) bool {
	return slices.ContainsFunc(steeringEnds, func(end string) bool { return strings.HasSuffix(name, end) })
}

var steeringEnds = strings.Fields("EDITOR PAGER SHELL BROWSER ASKPASS _COMMAND _CMD WRAPPER RUNNER _OPTIONS _OPTS _ARGS FLAGS RUBYLIB RUBYOPT CC CXX LD PATH _HOME _DIRS _ROOT TERMINFO TERMCAP INPUTRC HISTFILE MALLOC_TRACE")

// DangerOf is the word for what is dangerous of a program whatever its arguments are, ""
// for nothing.
func DangerOf(name string) string { return Dangerous[name] }

// IsWriter reports whether the arguments of a program name files that it changes.
func IsWriter(name string) bool { return slices.Contains(writers, name) }

// IsReplacer reports whether a program puts a file or folder in the place of another.
func IsReplacer(name string) bool { return slices.Contains(replacers, name) }

var (
	anyScheme = regexp.MustCompile(`(?i)^(--url=)?[^/?#]*[a-z\]}]:/`)
	webScheme = regexp.MustCompile(`(?i)^(--url=)?https?://`)
)

// UsesOddScheme reports whether an argument of curl may be an address of another kind
// than of the web, such as file:///etc/passwd.
func UsesOddScheme(w shellword.Word) bool {
	return anyScheme.MatchString(w.Text) && !webScheme.MatchString(w.Text)
}

// WithoutScript are the options with which interpreters read no program.
var WithoutScript = strings.Fields("--version -version -V -h --help --test --ini")

var GivesRights = regexp.MustCompile(`^[^/]*s|^0*[2467][0-7]{3}$`)

// TextDanger judges programs whose arguments are text, one of which may be a program.
func TextDanger(name, said string, r *Arguments) string {
	if name == "date" && slices.ContainsFunc(r.Operands, func(w shellword.Word) bool { return !strings.HasPrefix(w.Text, "+") }) {
		return said + " may set the clock"
	}
	if strings.HasSuffix(name, "awk") {
		for _, w := range r.Operands {
			if w.Unknown() || w.Split {
				return "what " + said + " runs is only known when it runs"
			}
		}
	}
	return ""
}

// SedDanger judges the scripts of sed.
func SedDanger(said string, r *Arguments) string {
	scripts := r.scripts
	if len(scripts) == 0 && len(r.Operands) > 0 {
		scripts = r.Operands[:1]
	}
	if len(r.Code) > 0 {
		return "what " + said + " runs is in a file"
	}
	for _, w := range scripts {
		if x, ok := readSed(w.Text); !ok || x.runs || len(x.reads)+len(x.writes) > 0 {
			return "the program given to " + said + " may run or write anything"
		}
	}
	return ""
}

// PlainVariable reports whether an argument of make is a target, or a variable whose
// value runs nothing.
func PlainVariable(arg string) bool {
	name, value, is := strings.Cut(arg, "=")
	if !is {
		return true
	}
	if strings.HasPrefix(name, "MAKE") || strings.Contains(name, "SHELL") || strings.HasSuffix(name, "FLAGS") {
		return false
	}
	if DangerOf(path.Base(value)) != "" {
		return false
	}
	return strings.IndexFunc(value, func(r rune) bool {
		return !strings.ContainsRune("_.,:/@+%-", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}
