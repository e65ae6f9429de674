// Package tooloutput bounds the texts of results, and keeps the whole of long ones in files.
package tooloutput

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolschema"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/tool"
)

const (
	defaultLines = 2000
	defaultBytes = 50 << 10
)

// Limit returns r with text that a model can read: without invalid UTF-8, NUL bytes and
// terminal escape sequences. Text beyond the limits, errors included, is written whole to a
// file. The model gets its beginning, its end, and a note about the missing part and how to
// read it. The Details then have the members "truncated" and "outputPath". A result that
// its tool has truncated is not cut again, images and documents pass. r itself is
// unchanged, and is returned if there is nothing to do.
//
// If the file cannot be written, Limit returns an error and the truncated result.
func Limit(o tool.Output, call tool.Call, r *tool.Result) (*tool.Result, error) {
	clean := cleanTexts(r.Content)
	text := clean.Text()
	if r.Truncated || holds(o, text) {
		if len(clean) == 0 || &clean[0] == &r.Content[0] {
			return r, nil
		}
		out := *r
		out.Content = clean
		return &out, nil
	}
	out := *r
	file, err := keep(o, call, text)
	details := map[string]any{"truncated": true}
	if err == nil {
		details["outputPath"] = file
	}
	out.Truncated = true
	out.Details = toolschema.AddMembers(r.Details, details)
	out.Content = replaceText(clean, cut(o, text, file))
	return &out, err
}

// cleanTexts returns blocks with clean texts: a copy, if one changes.
func cleanTexts(blocks llm.Blocks) llm.Blocks {
	out := blocks
	for i, b := range blocks {
		t, ok := b.(llm.Text)
		if !ok {
			continue
		}
		if clean := text.Clean(t.Text); clean != t.Text {
			if &out[0] == &blocks[0] {
				out = slices.Clone(blocks)
			}
			out[i] = llm.Text{Text: clean}
		}
	}
	return out
}

// replaceText puts text in the place of the first text block and drops the others.
func replaceText(blocks llm.Blocks, text string) llm.Blocks {
	var out llm.Blocks
	done := false
	for _, b := range blocks {
		if _, ok := b.(llm.Text); !ok {
			out = append(out, b)
		} else if !done {
			out = append(out, llm.Text{Text: text})
			done = true
		}
	}
	return out
}

func limitsOf(o tool.Output) (lines, bytes int) {
	limit := func(n, otherwise int) int {
		switch {
		case n == 0:
			return otherwise
		case n < 0:
			return math.MaxInt
		}
		return n
	}
	return limit(o.Lines, defaultLines), limit(o.Bytes, defaultBytes)
}

func holds(o tool.Output, text string) bool {
	lines, bytes := limitsOf(o)
	return len(text) <= bytes && countLines(text) <= lines
}

// cut returns beginning and end of text, and between them where the rest is.
func cut(o tool.Output, text, file string) string {
	lines, bytes := limitsOf(o)
	head := firstPart(text, lines-lines/2, bytes-bytes/2)
	tail := lastPart(text[len(head):], lines/2, bytes/2)
	missing := text[len(head) : len(text)-len(tail)]
	note := fmt.Sprintf("%d lines (%d bytes) are left out here", countLines(missing), len(missing))
	if file == "" {
		note += "; they could not be kept"
	} else {
		note += fmt.Sprintf(". The whole output (%d lines, %d bytes) is in %s: search it with Grep, or Read it with offset %d and limit",
			countLines(text), len(text), file, strings.Count(head, "\n")+1)
	}
	return ending(head) + "\n[… " + note + " …]\n\n" + tail
}

// ending makes s end in a line break.
func ending(s string) string {
	if s == "" || strings.HasSuffix(s, "\n") {
		return s
	}
	return s + "\n"
}

// firstPart returns the longest prefix of s within the limits. It ends at the end of a
// line, unless one line is longer than half of the limit.
func firstPart(s string, lines, bytes int) string {
	end := min(len(s), bytes)
	for end > 0 && end < len(s) && !utf8.RuneStart(s[end]) {
		end--
	}
	if end < len(s) {
		if i := strings.LastIndexByte(s[:end], '\n'); i+1 > end/2 {
			end = i + 1
		}
	}
	for i := 0; i < end; {
		n := strings.IndexByte(s[i:end], '\n')
		if n < 0 {
			break
		}
		i += n + 1
		if lines--; lines <= 0 {
			return s[:i]
		}
	}
	return s[:end]
}

// lastPart returns the longest suffix of s within the limits, like firstPart.
func lastPart(s string, lines, bytes int) string {
	start := max(0, len(s)-bytes)
	for start < len(s) && !utf8.RuneStart(s[start]) {
		start++
	}
	if start > 0 {
		if i := strings.IndexByte(s[start:], '\n'); i >= 0 && i < (len(s)-start)/2 {
			start += i + 1
		}
	}
	if lines <= 0 {
		return ""
	}
	end := len(strings.TrimSuffix(s, "\n"))
	for i := end; i > start; {
		if i = strings.LastIndexByte(s[:i], '\n'); i < start {
			break
		}
		if lines--; lines == 0 {
			return s[i+1:]
		}
	}
	return s[start:]
}

// countLines counts lines; the last one need not end in a line break.
func countLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// keep writes text to its own file and returns its path.
func keep(o tool.Output, call tool.Call, text string) (file string, err error) {
	dir := o.Dir
	if dir == "" {
		if dir, err = Dir(); err != nil {
			return "", err
		}
		tidy(dir)
	} else if err = os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("storing the output of %s: %w", call.Name, err)
	}
	f, err := os.CreateTemp(dir, plainName(call.Name)+"-"+plainName(call.ID)+"-*.txt")
	if err != nil {
		return "", fmt.Errorf("storing the output of %s: %w", call.Name, err)
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return "", fmt.Errorf("storing the output of %s: %w", call.Name, err)
	}
	return f.Name(), nil
}

// plainName makes any text safe as a part of a file name.
func plainName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r == '.' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}, s)
	return s[:min(len(s), 40)]
}

// Dir returns the default folder for outputs that are too long for the model: one per
// user below [os.TempDir], which it makes if needed. It fails if another user could have
// made the folder. Its files are removed after a week. If they exceed [Quota], the
// oldest are removed earlier.
func Dir() (string, error) {
	dir := filepath.Join(os.TempDir(), "openagent-"+userName())
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("making the output folder: %w; set TMPDIR to a folder that can be written", err)
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return "", fmt.Errorf("checking the output folder: %w", err)
	}
	if !info.IsDir() || !private(info) {
		return "", fmt.Errorf("checking the output folder: %s is not a folder that only this user can use", dir)
	}
	return dir, nil
}
