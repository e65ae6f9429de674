package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"github.com/openagent-go/agent/internal/skillscope"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/tool"
)

// Bounds of a skill's text when it runs.
const (
	maxArgs  = 10_000  // bytes of arguments
	maxText  = 256_000 // bytes of instructions with the arguments in them
	maxFiles = 40      // of the skill that are named
)

// Expand returns the expansion of a skill, by its name or an alias: the text for the model
// with the arguments filled in, and the settings in force during the skill. In the
// instructions $ARGUMENTS stands for all arguments, $1 to $9 for single ones, separated by
// spaces unless quoted, and ${CLAUDE_SKILL_DIR} for the skill's folder. Without such marks
// the arguments follow the instructions. The caller decides whether the user or the model
// may run the skill.
func (r *Registry) Expand(name, args string) (*tool.Expansion, error) {
	s, now, body, err := r.read(name)
	if err != nil {
		return nil, err
	}
	if args = strings.TrimSpace(args); len(args) > maxArgs {
		return nil, fmt.Errorf("the arguments have %d bytes, of which at most %d are filled in; say the rest in your own words once the skill runs", len(args), maxArgs)
	}
	text, marked, err := fill(body, args, now.Dir)
	if err != nil {
		return nil, fmt.Errorf("running the skill %s: %w", s.Name, err)
	}
	if !marked && args != "" {
		text += "\n\nARGUMENTS: " + args
	}
	return &tool.Expansion{Kind: "slash_command", Name: s.Name, Args: args, Text: now.heading(s.Name, args) + now.bounds() + "\n\n" + text,
		Scope: &skillscope.Scope{Skill: s.Name, Tools: now.Tools, Model: now.Model}}, nil
}

// Text returns the instructions of a skill, by its name or an alias, for who has them
// without running the skill: nothing is in force by them, and marks of arguments stay.
func (r *Registry) Text(name string) (string, error) {
	s, now, body, err := r.read(name)
	if err != nil {
		return "", err
	}
	if now.Dir != "" {
		body = strings.ReplaceAll(body, dirMark, now.Dir)
	}
	if len(body) > maxText {
		return "", fmt.Errorf("reading the skill %s: %w", s.Name, errTooLong)
	}
	return now.heading(s.Name, "") + "\n\n" + body, nil
}

// read finds a skill, and reads it as it is now.
func (r *Registry) read(name string) (s, now *Skill, body string, err error) {
	if s = r.Get(name); s == nil {
		return nil, nil, "", r.Unknown(name)
	}
	if !s.available() {
		return nil, nil, "", fmt.Errorf("the skill %s is not available here", s.Name)
	}
	now, body = s, s.Instructions
	if s.file != nil {
		if now, body, err = s.file.load(); err != nil {
			return nil, nil, "", fmt.Errorf("running the skill %s: %w", s.Name, err)
		}
	}
	if body = strings.TrimSpace(text.Clean(body)); body == "" {
		return nil, nil, "", fmt.Errorf("the skill %s has no instructions", s.Name)
	}
	return s, now, body, nil
}

// heading introduces the text, and lists the files beside it.
func (s *Skill) heading(name, args string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "/%s", name)
	if args != "" {
		fmt.Fprintf(&b, " %s", text.Runes(text.OneLine(text.Clean(args)), 200))
	}
	b.WriteString("\n\nThe instructions of this skill follow.")
	if s.Dir != "" {
		fmt.Fprintf(&b, " Its folder is %s", s.Dir)
		if files, more := s.files(); len(files) > 0 {
			fmt.Fprintf(&b, ", with files to read or run as they are needed: %s", strings.Join(files, ", "))
			if more {
				b.WriteString(" and others")
			}
		}
		b.WriteString(".")
	}
	return b.String()
}

// bounds says which tools run while the skill is in force.
func (s *Skill) bounds() string {
	if len(s.Tools) == 0 {
		return ""
	}
	var names []string
	for _, r := range s.Tools {
		names = append(names, string(r))
	}
	return fmt.Sprintf(" While it is in force only these tools run: %s.", strings.Join(names, ", "))
}

// files lists the files of the skill beside its SKILL.md, by their slash paths in its
// folder, and reports whether there are more.
func (s *Skill) files() (files []string, more bool) {
	root, err := os.OpenRoot(s.Dir)
	if err != nil {
		return nil, false
	}
	defer root.Close()
	looked := 0
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		looked++
		switch {
		case len(files) == maxFiles || looked > 1000:
			more = true
			return fs.SkipAll
		case err != nil || name == "." || name == skillscope.FileName:
			return nil
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || strings.Count(name, "/") >= maxDepth):
			return fs.SkipDir
		case d.Type().IsRegular() && !strings.HasPrefix(d.Name(), "."):
			files = append(files, text.OneLine(text.Clean(name)))
		}
		return nil
	})
	return files, more || err != nil
}

// Files lists the files of the skill beside its SKILL.md, absolute, at most 40.
func (s *Skill) Files() []string {
	if s.Dir == "" {
		return nil
	}
	files, _ := s.files()
	for i := range files {
		files[i] = filepath.Join(s.Dir, filepath.FromSlash(files[i]))
	}
	return files
}

// fill replaces marks by arguments in one pass: arguments are not searched for marks.
func fill(body, args, dir string) (text string, marked bool, err error) {
	words := fields(args)
	var b strings.Builder
	for {
		i := strings.IndexByte(body, '$')
		if i < 0 {
			break
		}
		b.WriteString(body[:i])
		body = body[i:]
		used, with, ok := mark(body, args, words, dir)
		if !ok {
			b.WriteByte('$')
			body = body[1:]
			continue
		}
		marked = marked || used != len(dirMark)
		b.WriteString(with)
		if body = body[used:]; b.Len() > maxText {
			return "", false, errTooLong
		}
	}
	b.WriteString(body)
	if b.Len() > maxText {
		return "", false, errTooLong
	}
	return b.String(), marked, nil
}

var errTooLong = errors.New("its instructions with the arguments in them are too long")

const (
	argsMark = "$ARGUMENTS"
	dirMark  = "${CLAUDE_SKILL_DIR}"
)

// mark reads a mark at the beginning of a text. It returns its length and its replacement.
func mark(body, args string, words []string, dir string) (used int, with string, ok bool) {
	switch {
	case strings.HasPrefix(body, argsMark):
		return len(argsMark), args, true
	case strings.HasPrefix(body, dirMark) && dir != "":
		return len(dirMark), dir, true
	case len(body) > 1 && body[1] >= '1' && body[1] <= '9' && (len(body) == 2 || body[2] < '0' || body[2] > '9'):
		n, _ := strconv.Atoi(body[1:2])
		if n <= len(words) {
			with = words[n-1]
		}
		return 2, with, true
	}
	return 0, "", false
}

// fields takes arguments apart at spaces outside of quotes. A quote without its end is
// a letter like others.
func fields(s string) []string {
	var out []string
	var word strings.Builder
	inside := false
	runes := []rune(s)
	for i := 0; i < len(runes); i++ {
		c := runes[i]
		switch {
		case c == '"' || c == '\'':
			end := i + 1
			for end < len(runes) && runes[end] != c {
				end++
			}
			if inside = true; end == len(runes) {
				word.WriteRune(c)
				continue
			}
			word.WriteString(string(runes[i+1 : end]))
			i = end
		case unicode.IsSpace(c):
			if inside {
				out = append(out, word.String())
				word.Reset()
			}
			inside = false
		default:
			word.WriteRune(c)
			inside = true
		}
	}
	if inside {
		out = append(out, word.String())
	}
	return out
}
