// Package patch reads the patch format that OpenAI's models write: a text from "*** Begin
// Patch" to "*** End Patch" that adds, updates, moves and deletes files. Its grammar is
// published with Codex (github.com/openai/codex, codex-rs/apply-patch). Places in files are
// named by their text, not by line numbers; the caller finds them.
package patch

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/openagent-go/agent/internal/text"
)

// maxShown bounds quotations of a line in errors, in bytes.
const maxShown = 80

const (
	MaxSize  = 2 << 20 // bytes of a patch
	MaxFiles = 200     // files that one patch may name
)

// An Action is the action of a patch on a file.
type Action string

const (
	Add    Action = "add"
	Update Action = "update"
	Delete Action = "delete"
)

// A File is the part of a patch about one file.
type File struct {
	Action  Action
	Path    string // as written, never empty
	MoveTo  string // of an Update; "" to stay
	Content string // of an Add
	Hunks   []Hunk // of an Update; none only where MoveTo is set
	Line    int    // of the patch, counted from 1
}

// A Hunk is one change within a file. It has a line that is added or removed.
type Hunk struct {
	Headers []string // lines above the place, from the outermost; without "@@ "
	Lines   []Line
	End     bool // the lines are the last of the file
	Line    int  // of the patch, counted from 1
}

// A Line is a line of a hunk, without a line break.
type Line struct {
	Op   byte // ' ' stays, '-' goes, '+' comes
	Text string
}

// Old returns the lines that the hunk expects in the file.
func (h Hunk) Old() []string {
	var old []string
	for _, l := range h.Lines {
		if l.Op != '+' {
			old = append(old, l.Text)
		}
	}
	return old
}

const (
	begin     = "*** Begin Patch"
	end       = "*** End Patch"
	addFile   = "*** Add File:"
	update    = "*** Update File:"
	remove    = "*** Delete File:"
	moveTo    = "*** Move to:"
	endOfFile = "*** End of File"
)

// around matches the lines that models put around a patch: fences of Markdown,
// and the here-document of a command.
var around = regexp.MustCompile("^(```[a-z]*|(apply_patch )?<<['\"]?[A-Z]+['\"]?|[A-Z]+)?$")

// numbers matches the "@@" line of a unified diff. Its numbers are wrong more
// often than not, and what follows them may be cut.
var numbers = regexp.MustCompile(`^@@ ?-[0-9]+(,[0-9]+)? \+[0-9]+(,[0-9]+)? @@`)

// Parse reads a patch. Errors name the line of the patch and are written for the
// model.
func Parse(text string) ([]File, error) {
	if len(text) > MaxSize {
		return nil, fmt.Errorf("the patch is too large: more than %d MB", MaxSize>>20)
	}
	p := parser{lines: strings.Split(text, "\n")}
	if err := p.frame(); err != nil {
		return nil, err
	}
	var files []File
	for p.at < p.end {
		if strings.TrimSpace(p.lines[p.at]) == "" {
			p.at++
			continue
		}
		f, err := p.file()
		if err != nil {
			return nil, err
		}
		if files = append(files, f); len(files) > MaxFiles {
			return nil, fmt.Errorf("the patch names more than %d files", MaxFiles)
		}
	}
	if len(files) == 0 {
		return nil, errors.New("the patch is empty: it names no file")
	}
	return files, nil
}

type parser struct {
	lines   []string
	at, end int // the next line, the line of "*** End Patch"
	solid   int // the first line that is not empty, if not before at
}

// frame finds the beginning and the end of the patch. Nothing else may be around
// them: a second patch would be lost.
func (p *parser) frame() error {
	p.at, p.end = -1, -1
	for i, l := range p.lines {
		l = strings.TrimSpace(l)
		switch {
		case p.at < 0 && l == begin:
			p.at = i + 1
		case p.at >= 0 && p.end < 0 && strings.TrimRight(p.lines[i], " \t\r") == end:
			p.end = i
		case (p.at < 0 || p.end >= 0) && !around.MatchString(l):
			if p.at < 0 {
				return fmt.Errorf("line %d: a patch begins with %q, not with %q", i+1, begin, text.Bytes(strings.TrimSpace(l), maxShown))
			}
			return fmt.Errorf("line %d: %q comes after %q; put all files into one patch", i+1, text.Bytes(strings.TrimSpace(l), maxShown), end)
		}
	}
	switch {
	case p.at < 0:
		return fmt.Errorf("the patch has no line %q", begin)
	case p.end < 0:
		return fmt.Errorf("the patch has no line %q: it may be cut", end)
	}
	return nil
}

// marker reports whether line i belongs to the patch and not to a file's text.
func (p *parser) marker(i int) bool { return strings.HasPrefix(p.lines[i], "***") }

// ends reports whether line i says that the file ends there.
func (p *parser) ends(i int) bool { return strings.TrimRight(p.lines[i], " \t\r") == endOfFile }

// over reports whether the section of a file is over: nothing but empty lines is
// left before the next marker. It passes over them.
func (p *parser) over() bool {
	for p.solid = max(p.solid, p.at); p.solid < p.end && strings.TrimSuffix(p.lines[p.solid], "\r") == ""; p.solid++ {
	}
	if p.solid < p.end && (!p.marker(p.solid) || p.ends(p.solid)) {
		return false
	}
	p.at = p.solid
	return true
}

func (p *parser) file() (File, error) {
	f := File{Line: p.at + 1}
	line := strings.TrimRight(p.lines[p.at], " \t\r")
	var ok bool
	for _, m := range []struct {
		Action
		marker string
	}{{Add, addFile}, {Update, update}, {Delete, remove}} {
		if f.Path, ok = strings.CutPrefix(line, m.marker); ok {
			f.Action = m.Action
			break
		}
	}
	if !ok {
		return f, fmt.Errorf("line %d: %q does not say what is done with which file; %q, %q or %q does", f.Line, text.Bytes(strings.TrimSpace(line), maxShown), addFile, update, remove)
	}
	if f.Path = strings.TrimSpace(f.Path); f.Path == "" {
		return f, fmt.Errorf("line %d: the path is missing", f.Line)
	}
	p.at++
	var err error
	switch f.Action {
	case Add:
		f.Content, err = p.content()
	case Update:
		err = p.update(&f)
	}
	return f, err
}

// content reads the text of a new file.
func (p *parser) content() (string, error) {
	var b strings.Builder
	for ; p.at < p.end && !p.over(); p.at++ {
		line, ok := strings.CutPrefix(p.lines[p.at], "+")
		if !ok {
			return "", fmt.Errorf("line %d: %q has no + in front, as the lines of a new file have", p.at+1, text.Bytes(strings.TrimSpace(p.lines[p.at]), maxShown))
		}
		b.WriteString(line)
		b.WriteByte('\n')
	}
	return b.String(), nil
}

func (p *parser) update(f *File) error {
	if p.at < p.end {
		if to, ok := strings.CutPrefix(p.lines[p.at], moveTo); ok {
			if f.MoveTo = strings.TrimSpace(to); f.MoveTo == "" {
				return fmt.Errorf("line %d: the path to move to is missing", p.at+1)
			}
			p.at++
		}
	}
	for p.at < p.end && !p.over() {
		h, err := p.hunk()
		if err != nil {
			return err
		}
		f.Hunks = append(f.Hunks, h)
	}
	if len(f.Hunks) == 0 && f.MoveTo == "" {
		return fmt.Errorf("line %d: there is no change for %s", f.Line, text.Bytes(strings.TrimSpace(f.Path), maxShown))
	}
	return nil
}

func (p *parser) hunk() (Hunk, error) {
	h := Hunk{Line: p.at + 1}
	for ; p.at < p.end && strings.HasPrefix(p.lines[p.at], "@@"); p.at++ {
		line := strings.TrimRight(p.lines[p.at], " \t\r")
		if header := strings.TrimPrefix(line[2:], " "); strings.TrimSpace(header) != "" && !numbers.MatchString(line) {
			h.Headers = append(h.Headers, header)
		}
	}
	changes := false
	for p.at < p.end && !p.over() && !strings.HasPrefix(p.lines[p.at], "@@") {
		if p.ends(p.at) {
			h.End = true
			p.at++
			break
		}
		line := strings.TrimSuffix(p.lines[p.at], "\r")
		if line == "" {
			line = " " // models drop the space of an empty line
		}
		op := line[0]
		if op != ' ' && op != '+' && op != '-' {
			return h, fmt.Errorf("line %d: %q has no space, + or - in front", p.at+1, text.Bytes(strings.TrimSpace(line), maxShown))
		}
		changes = changes || op != ' '
		h.Lines = append(h.Lines, Line{op, line[1:]})
		p.at++
	}
	if !changes {
		return h, fmt.Errorf("line %d: the hunk has no line with + or - in front, so it changes nothing", h.Line)
	}
	return h, nil
}
