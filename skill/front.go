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
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/permission"
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

// checkName returns the mistake in a name. A name is a word that people type after a slash.
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

// Keys of Claude Code and agentskills.io without effect on a skill's permissions here.
var idle = []string{"license", "compatibility", "metadata", "version", "author", "context", "agent", "effort", "paths", "shell", "arguments", "hooks", "keywords", "tags"}

var known = []string{"name", "description", "aliases", "allowed-tools", "when-to-use", "argument-hint", "model", "user-invocable", "disable-model-invocation"}

// understand reads front matter into a skill. Notes list mistakes that do not prevent the
// use of the skill.
func understand(matter []byte, s *Skill) (notes []*front.Fault, err error) {
	if len(bytes.TrimSpace(matter)) == 0 {
		return []*front.Fault{{Line: 1, Text: "there is no front matter: name and description are guessed"}}, nil
	}
	values, corrected, err := front.Parse(matter)
	if err != nil {
		return nil, err
	}
	if corrected != nil {
		notes = append(notes, corrected)
	}
	seen := map[string]bool{}
	for _, v := range values {
		key := strings.ReplaceAll(strings.ToLower(v.Key), "_", "-")
		if seen[key] {
			return nil, &front.Fault{Line: v.Line, Text: key + " is there twice"}
		}
		seen[key] = true
		if note, err := s.set(key, v); err != nil {
			return nil, err
		} else if note != "" {
			notes = append(notes, &front.Fault{Line: v.Line, Text: note})
		}
	}
	return notes, nil
}

// set takes in a value of front matter.
func (s *Skill) set(key string, v front.Value) (note string, err error) {
	set := func(to *string, most int) {
		if *to, err = textOf(v); err == nil && utf8.RuneCountInString(*to) > most {
			*to = text.Runes(*to, most)
			note = fmt.Sprintf("%s has more than %d characters, and is cut there", key, most)
		}
	}
	flag := func(to *bool, is bool) {
		b, ok := v.Any().(bool)
		if !ok {
			err = v.Fault("it must be true or false")
		}
		*to = b == is
	}
	switch key {
	case "name":
		set(&s.Name, maxName)
		if err == nil {
			if wrong := checkName(s.Name); wrong != nil {
				err = v.Fault("%v", wrong)
			}
		}
	case "description":
		set(&s.Description, maxDescription)
	case "when-to-use":
		set(&s.When, maxDescription)
	case "argument-hint":
		set(&s.Hint, 200)
	case "model":
		if set(&s.Model, 200); strings.EqualFold(s.Model, "inherit") {
			s.Model = ""
		}
	case "aliases":
		if s.Aliases, err = namesOf(v); err != nil {
			return "", err
		}
		for _, a := range s.Aliases {
			if wrong := checkName(a); wrong != nil {
				return "", v.Fault("%v", wrong)
			}
		}
		if len(s.Aliases) > maxAliases {
			err = v.Fault("there are more than %d", maxAliases)
		}
	case "allowed-tools":
		s.Tools, err = rulesOf(v)
	case "user-invocable":
		flag(&s.Hidden, false)
	case "disable-model-invocation":
		flag(&s.Manual, true)
	default:
		if slices.Contains(idle, key) {
			return "", nil
		}
		note = fmt.Sprintf("there is no key %.40q", v.Key)
		if near := text.Nearest(key, known); near != "" {
			note += "; did you mean " + near + "?"
		}
	}
	return note, err
}

// textOf returns a value that is a text. A list is one that was meant as a text in
// brackets.
func textOf(v front.Value) (string, error) {
	if list, is := v.Any().([]any); is {
		var words []string
		for _, item := range list {
			words = append(words, fmt.Sprint(item))
		}
		return text.OneLine(text.Clean("[" + strings.Join(words, ", ") + "]")), nil
	}
	s, err := v.Text()
	return text.OneLine(text.Clean(s)), err
}

// items returns a text as it is, and the texts of a list.
func items(v front.Value) ([]string, error) {
	if s, is := v.Any().(string); is {
		return []string{s}, nil
	}
	return v.Items()
}

// namesOf returns a list of names: of YAML, or separated by commas or spaces.
func namesOf(v front.Value) ([]string, error) {
	items, err := items(v)
	var out []string
	for _, item := range items {
		out = append(out, strings.FieldsFunc(item, func(c rune) bool { return c == ',' || unicode.IsSpace(c) })...)
	}
	return out, err
}

// rulesOf returns a list of tools: a YAML list, or text separated by commas or spaces
// outside parentheses. An unreadable rule is an error: without it the skill could do more
// than it should.
func rulesOf(v front.Value) ([]permission.Rule, error) {
	items, err := items(v)
	if err != nil {
		return nil, err
	}
	var out []permission.Rule
	for _, item := range items {
		rules, err := permission.ParseRules(item)
		if err != nil {
			return nil, v.Fault("%v", err)
		}
		out = append(out, rules...)
	}
	if len(out) > maxTools {
		return nil, v.Fault("there are more than %d tools", maxTools)
	}
	return out, nil
}
