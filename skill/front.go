package skill

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/front"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// Bounds of a SKILL.md.
const (
	maxFront       = 8 << 10   // bytes of front matter
	maxFile        = 256 << 10 // bytes of a file
	maxName        = 64        // bytes, as agentskills.io has it
	maxDescription = 1024      // characters of description, and of when-to-use
	maxAliases     = 16
	maxTools       = 64
)

// checkName says what is wrong with a name. It is a word that people type after a
// slash.
func checkName(name string) error {
	if name == "" {
		return errors.New("the name is empty")
	}
	if len(name) > maxName || strings.IndexFunc(name, func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune("-_.:", c)
	}) >= 0 || !utf8.ValidString(name) || strings.HasPrefix(name, ".") {
		return fmt.Errorf("%.80q cannot be a name: it takes letters, digits, -, _, . and :, at most %d bytes", name, maxName)
	}
	return nil
}

// A fault is something wrong in a line of a file.
type fault struct {
	line int
	text string
}

func (f *fault) Error() string { return f.text }

func at(line int, format string, args ...any) error {
	return &fault{line, fmt.Sprintf(format, args...)}
}

// faultOf returns the fault of front matter that cannot be read.
func faultOf(err error) error {
	if f := (*front.Fault)(nil); errors.As(err, &f) {
		return &fault{f.Line, f.Text}
	}
	return err
}

// split takes a SKILL.md apart: the front matter without its marks, "" if there is
// none, and the text, with the number of its first line. whole says that data is all
// of the file.
func split(data []byte, whole bool) (matter, body []byte, line int, err error) {
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	first, rest, _ := bytes.Cut(data, []byte("\n"))
	if string(bytes.TrimRight(first, " \t\r")) != "---" {
		return nil, data, 1, nil
	}
	line = 2
	for at := rest; ; {
		l, next, more := bytes.Cut(at, []byte("\n"))
		line++
		if mark := string(bytes.TrimRight(l, " \t\r")); mark == "---" || mark == "..." {
			matter = rest[:len(rest)-len(at)]
			if len(matter) > maxFront {
				return nil, nil, 0, tooMuchFront()
			}
			return matter, next, line, nil
		}
		if !more {
			break
		}
		at = next
	}
	if !whole {
		return nil, nil, 0, tooMuchFront()
	}
	return nil, nil, 0, &fault{1, "the front matter has no end: a line --- is missing"}
}

func tooMuchFront() error {
	return &fault{1, fmt.Sprintf("the front matter has more than %d bytes, or no end", maxFront)}
}

// Keys of Claude Code and agentskills.io that say nothing about what a skill may do
// here.
var idle = []string{"license", "compatibility", "metadata", "version", "author", "context", "agent", "effort", "paths", "shell", "arguments", "hooks", "keywords", "tags"}

var known = []string{"name", "description", "aliases", "allowed-tools", "when-to-use", "argument-hint", "model", "user-invocable", "disable-model-invocation"}

// understand reads front matter into a skill. Notes are what people should mend
// though the skill can be used.
func understand(matter []byte, s *Skill) (notes []fault, err error) {
	if len(bytes.TrimSpace(matter)) == 0 {
		return []fault{{1, "there is no front matter: name and description are guessed"}}, nil
	}
	values, mended, err := front.Parse(matter)
	if err != nil {
		return nil, faultOf(err)
	}
	if mended != nil {
		notes = append(notes, fault{mended.Line, mended.Text})
	}
	seen := map[string]bool{}
	for _, read := range values {
		v := value{read.Key, read.Any(), read.Line}
		key := strings.ReplaceAll(strings.ToLower(v.key), "_", "-")
		if seen[key] {
			return nil, at(v.line, "%s is there twice", key)
		}
		seen[key] = true
		if note, err := s.set(key, v); err != nil {
			return nil, err
		} else if note != "" {
			notes = append(notes, fault{v.line, note})
		}
	}
	return notes, nil
}

// set takes in a value of front matter.
func (s *Skill) set(key string, v value) (note string, err error) {
	text := func(to *string, most int) {
		if *to, err = v.text(); err == nil && utf8.RuneCountInString(*to) > most {
			*to = clip(*to, most)
			note = fmt.Sprintf("%s has more than %d characters, and is cut there", key, most)
		}
	}
	flag := func(to *bool, is bool) {
		b, ok := v.value.(bool)
		if !ok {
			err = at(v.line, "%s must be true or false", key)
		}
		*to = b == is
	}
	switch key {
	case "name":
		text(&s.Name, maxName)
		if err == nil {
			if wrong := checkName(s.Name); wrong != nil {
				err = at(v.line, "name: %v", wrong)
			}
		}
	case "description":
		text(&s.Description, maxDescription)
	case "when-to-use":
		text(&s.When, maxDescription)
	case "argument-hint":
		text(&s.Hint, 200)
	case "model":
		if text(&s.Model, 200); strings.EqualFold(s.Model, "inherit") {
			s.Model = ""
		}
	case "aliases":
		if s.Aliases, err = v.names(); err != nil {
			return "", err
		}
		for _, a := range s.Aliases {
			if wrong := checkName(a); wrong != nil {
				return "", at(v.line, "aliases: %v", wrong)
			}
		}
		if len(s.Aliases) > maxAliases {
			err = at(v.line, "there are more than %d aliases", maxAliases)
		}
	case "allowed-tools":
		s.Tools, err = v.rules()
	case "user-invocable":
		flag(&s.Hidden, false)
	case "disable-model-invocation":
		flag(&s.Manual, true)
	default:
		if slices.Contains(idle, key) {
			return "", nil
		}
		note = fmt.Sprintf("there is no key %.40q", v.key)
		if near := tool.Nearest(key, known); near != "" {
			note += "; did you mean " + near + "?"
		}
	}
	return note, err
}

// A value of front matter.
type value struct {
	key   string
	value any
	line  int // in the file
}

// text returns a value that is a text. A list is one that was meant as a text in
// brackets.
func (v value) text() (string, error) {
	switch x := v.value.(type) {
	case nil:
		return "", nil
	case string:
		return oneLine(x), nil
	case bool, int, int64, uint64, float64:
		return fmt.Sprint(x), nil
	case []any:
		var words []string
		for _, item := range x {
			words = append(words, fmt.Sprint(item))
		}
		return oneLine("[" + strings.Join(words, ", ") + "]"), nil
	}
	return "", at(v.line, "%s must be a text", v.key)
}

// items returns the texts of a list, and whether it was one.
func (v value) items() (items []string, isList bool, err error) {
	switch x := v.value.(type) {
	case nil:
		return nil, false, nil
	case string:
		return []string{x}, false, nil
	case []any:
		for _, item := range x {
			s, ok := item.(string)
			if !ok {
				return nil, true, at(v.line, "%s must be a list of texts, not of %v", v.key, item)
			}
			items = append(items, s)
		}
		return items, true, nil
	}
	return nil, false, at(v.line, "%s must be a text or a list of texts", v.key)
}

// names returns a list of names: of YAML, or separated by commas or spaces.
func (v value) names() ([]string, error) {
	items, _, err := v.items()
	var out []string
	for _, item := range items {
		out = append(out, strings.FieldsFunc(item, func(c rune) bool { return c == ',' || unicode.IsSpace(c) })...)
	}
	return out, err
}

// rules returns a list of tools: of YAML, or separated by commas or spaces, those in
// parentheses excepted. What cannot be read is an error: without it the skill could
// do more than it should.
func (v value) rules() ([]permission.Rule, error) {
	items, _, err := v.items()
	if err != nil {
		return nil, err
	}
	var out []permission.Rule
	for _, item := range items {
		rules, err := permission.ParseRules(item)
		if err != nil {
			return nil, at(v.line, "%s: %v", v.key, err)
		}
		out = append(out, rules...)
	}
	if len(out) > maxTools {
		return nil, at(v.line, "%s names more than %d tools", v.key, maxTools)
	}
	return out, nil
}

// oneLine is text as it may stand in a list of skills: without line breaks and
// without what is no text.
func oneLine(s string) string {
	return strings.Join(strings.Fields(tool.Clean(strings.ToValidUTF8(s, "\uFFFD"))), " ")
}

func clip(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return string([]rune(s)[:n-1]) + "…"
}
