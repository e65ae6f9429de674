package effects

import (
	_ "embed"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/rules/shellword"
)

// Commands that mode auto asks about.

//go:embed danger.txt
var dangerTable string

// readDangerous returns why mode auto asks about programs, by name: see danger.txt.
func readDangerous() map[string]string {
	what := map[string]string{}
	for reason, names := range readLists("danger.txt", dangerTable) {
		for _, n := range names {
			what[n] = strings.ReplaceAll(reason, "-", " ")
		}
	}
	return what
}

// Interpreter returns the name of an interpreter without its version, "" if the
// program is none.
func Interpreter(name string) string {
	name = strings.TrimRight(name, "0123456789.")
	if known().interpreters[name] {
		return name
	}
	return ""
}

// ScriptWord returns the index of the argument that is a script or a pattern, and no
// path; -1 for none.
func ScriptWord(name string, words []shellword.Word) int {
	e := Effects()[name]
	if !known().scriptFirst[name] || e == nil {
		return -1
	}
	r := Arguments{Effect: e, Words: words, stop: true}
	if r.Read() != "" || len(r.Words) == 0 || len(r.scripts) > 0 || shellword.Any(words, func(w shellword.Word) bool { return givesScript(w.Text) }) {
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

// RunsOrWrites reports whether a program interprets a program in its arguments that may
// do more than transform text.
func RunsOrWrites(name string, args []string) bool {
	return known().awks[name] && slices.ContainsFunc(args, func(a string) bool {
		return strings.Contains(a, "system") || strings.ContainsAny(a, "|>@"+shellword.Unknown) || strings.Contains(a, "getline")
	})
}

// DangerOf returns why mode auto asks about every call of a program, "" if it does not.
func DangerOf(name string) string { return known().dangerous[name] }

// IsWriter reports whether the arguments of a program name files that it changes.
func IsWriter(name string) bool { return known().writers[name] }

// IsReplacer reports whether a program puts a file or folder in the place of another.
func IsReplacer(name string) bool { return known().replacers[name] }

var (
	anyScheme = regexp.MustCompile(`(?i)^(--url=)?[^/?#]*[a-z\]}]:/`)
	webScheme = regexp.MustCompile(`(?i)^(--url=)?https?://`)
)

// UsesOddScheme reports whether an argument of curl may be an address of another kind
// than of the web, such as file:///etc/passwd.
func UsesOddScheme(w shellword.Word) bool {
	return anyScheme.MatchString(w.Text) && !webScheme.MatchString(w.Text)
}

// ReadsNoProgram reports whether an interpreter with this option reads no program.
func ReadsNoProgram(option string) bool { return known().readsNoProgram[option] }

var GivesRights = regexp.MustCompile(`^[^/]*s|^0*[2467][0-7]{3}$`)

// TextDanger judges programs whose arguments are text, one of which may be a program.
func TextDanger(name, said string, r *Arguments) string {
	if name == "date" && shellword.Any(r.Operands, func(w shellword.Word) bool { return !strings.HasPrefix(w.Text, "+") }) {
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
