package arch

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// link is a link or picture of Markdown, with its target.
var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// code is a span of code, in which nothing is a link.
var code = regexp.MustCompile("`[^`]*`")

// TestLinks checks that the relative links of all Markdown files lead to a file, and to
// a heading if they name one.
func TestLinks(t *testing.T) {
	pages := markdown(t, filepath.Join("..", ".."))
	checked := 0
	for page, text := range pages {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(prose(text), "``"), -1) {
			if strings.Contains(m[1], "://") || strings.HasPrefix(m[1], "mailto:") {
				continue
			}
			checked++
			if err := leads(pages, page, m[1]); err != nil {
				t.Errorf("%s: (%s): %v", page, m[1], err)
			}
		}
	}
	if checked < 200 {
		t.Errorf("only %d links", checked)
	}
}

// leads returns an error if a link in a page leads nowhere.
func leads(pages map[string]string, page, target string) error {
	file, heading, _ := strings.Cut(target, "#")
	path := page
	if file != "" {
		path = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
	}
	if _, err := os.Stat(path); err != nil {
		return err
	}
	if heading != "" && !anchors(pages[path])[heading] {
		return fmt.Errorf("%s has no heading #%s", path, heading)
	}
	return nil
}

// markdown returns the Markdown files of the repository by path. Those in testdata are
// generated from others.
func markdown(t *testing.T, root string) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "testdata" || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".md":
			return nil
		}
		text, err := os.ReadFile(path)
		pages[path] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// prose returns a page without its fenced blocks.
func prose(text string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		} else if !fenced {
			b.WriteString(line)
		}
	}
	return b.String()
}

// anchors returns the names that GitHub gives to the headings of a page.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for line := range strings.Lines(prose(text)) {
		title := strings.TrimLeft(line, "#")
		if title == line || !strings.HasPrefix(title, " ") {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, strings.TrimSpace(title))
		unique := name
		for n := 1; names[unique]; n++ {
			unique = fmt.Sprintf("%s-%d", name, n)
		}
		names[unique] = true
	}
	return names
}
