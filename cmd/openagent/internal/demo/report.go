package demo

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/wire"
)

// surveyReport tells what the tools found out. Every number in it stands in a
// result, or is a sum of such numbers.
func (t *conversation) surveyReport() string {
	r := &reportText{}
	t.reportFiles(r)
	if t.has("kinds") {
		t.reportLanguages(r)
		t.reportLargest(r)
		t.reportTodos(r)
	}
	t.reportGit(r)
	r.row("tests", "no file that says how; looked for Makefile, go.mod, package.json, ...", strings.Join(t.testCommands(), ", "))
	if t.has("kinds") {
		r.row("left out", "", t.leftOut())
	}
	return strings.TrimSuffix(r.b.String(), "\n")
}

// leftOut says what the numbers do not cover.
func (t *conversation) leftOut() string {
	out := []string{"hidden files and what .gitignore excludes"}
	if all := len(t.languages()); all > surveyLanguages {
		out = append(out, cli.Plural(all-surveyLanguages, "language")+" with fewer files")
	}
	for _, id := range []string{"files", "todo_count"} {
		for _, m := range partNote.FindAllStringSubmatch(t.output(id), -1) {
			out = append(out, m[1])
		}
	}
	return strings.Join(out, "; ")
}

// A reportText is a table of labels and what belongs to them.
type reportText struct {
	b    strings.Builder
	last string
}

// row adds a line, with otherwise in the place of an empty value.
func (r *reportText) row(label, otherwise, value string) {
	if value == "" {
		value = otherwise
	}
	shown := label
	if label == r.last {
		shown = ""
	}
	r.last = label
	value = wire.Mask(value, nil) // comments and commits hold all sorts of things
	fmt.Fprintf(&r.b, "  %-11s%s\n", shown, text.Runes(strings.ReplaceAll(value, "\t", " "), 110))
}

func (t *conversation) reportFiles(r *reportText) {
	switch n := t.fileCount(); {
	case t.failed("files"):
		r.row("files", "", "not counted: "+text.FirstLine(t.text("files")))
		r.row("left out", "", "languages, sizes and TODO lines: name a folder further down with --dir")
		return
	case n == 0:
		r.row("files", "", "none that Glob shows. "+text.FirstLine(t.text("files")))
		r.row("TODO", "", "none: there is nothing to search")
		return
	default:
		r.row("files", "", cli.Thousands(n))
	}
	if m := diskUse.FindStringSubmatch(t.output("size")); m != nil {
		r.row("size", "", bytesOf(number(m[1])*1024)+" on disk, everything included")
	} else {
		r.row("size", "", "not known: "+text.FirstLine(t.text("size")))
	}
}

func (t *conversation) reportLanguages(r *reportText) {
	languages := t.languages()
	if len(languages) == 0 {
		r.row("languages", "none known by the endings of names", t.missing("kinds"))
	}
	for i, l := range languages[:min(len(languages), surveyLanguages)] {
		m := grepCount.FindStringSubmatch(t.output(linesID(i)))
		if m == nil {
			r.row("languages", "", fmt.Sprintf("%-11s not counted: %s", l.name, text.FirstLine(t.text(linesID(i)))))
			continue
		}
		r.row("languages", "", fmt.Sprintf("%-11s%14s%16s", l.name, cli.Plural(number(m[2]), "file"), cli.Plural(number(m[1]), "line")))
	}
}

func (t *conversation) reportLargest(r *reportText) {
	pattern := foundFile
	if t.inGit() {
		pattern = trackedFile
	}
	found := pattern.FindAllStringSubmatch(t.output("largest"), -1)
	if len(found) == 0 {
		r.row("largest", "no file to name", t.missing("largest"))
	}
	for _, m := range found {
		r.row("largest", "", fmt.Sprintf("%10s  %s", bytesOf(number(m[1])), m[2]))
	}
}

func (t *conversation) reportTodos(r *reportText) {
	if t.failed("todo_count") {
		r.row("TODO", "", "not counted: "+text.FirstLine(t.text("todo_count")))
		return
	}
	m := grepCount.FindStringSubmatch(t.text("todo_count"))
	if m == nil {
		r.row("TODO", "", "no line with TODO or FIXME")
		return
	}
	r.row("TODO", "", fmt.Sprintf("%s with TODO or FIXME in %s", cli.Plural(number(m[1]), "line"), cli.Plural(number(m[2]), "file")))
	shown := 0
	for _, place := range todoPlace.FindAllStringSubmatch(t.output("todos"), -1) {
		shown++
		r.row("TODO", "", text.Runes(fmt.Sprintf("  %s:%s  %s", place[1], place[2], strings.TrimSpace(place[3])), demoWidth-11))
	}
	if more := number(m[1]) - shown; more > 0 && shown > 0 {
		r.row("TODO", "", fmt.Sprintf("  and %s more", cli.Thousands(more)))
	}
}

func (t *conversation) reportGit(r *reportText) {
	switch {
	case !t.inGit() && strings.Contains(t.text("git"), "not a git repository"):
		r.row("git", "", "not a git repository")
		return
	case strings.HasPrefix(t.text("git"), "Permission denied"):
		r.row("git", "", "not read: git runs only at the top of a repository with plain settings")
		return
	case !t.inGit():
		r.row("git", "", "not read: "+text.FirstLine(t.text("git")))
		return
	case !t.has("commits"):
		r.row("git", "", "a repository; its history was not read")
		return
	}
	count := commitCount.FindStringSubmatch(t.output("commits"))
	if count == nil {
		r.row("git", "", "no history: "+text.FirstLine(t.text("commits")))
		return
	}
	r.row("git", "", cli.Plural(number(count[1]), "commit")+", the last of them:")
	for line := range strings.Lines(t.output("log")) {
		r.row("git", "", "  "+text.Runes(strings.TrimSpace(line), demoWidth-14))
	}
}

// missing says why a call gave nothing, "" if it just found nothing.
func (t *conversation) missing(id string) string {
	if !t.failed(id) {
		return ""
	}
	return "not known: " + text.FirstLine(t.text(id))
}

var (
	diskUse     = regexp.MustCompile(`(?m)^(\d{1,15})\s+\.$`)
	partNote    = regexp.MustCompile(`(?m)^\(((?:\d+ )?\w+ (?:was|were) (?:not searched|searched only in part)[^)\n]*?)\.?\)$`)
	commitCount = regexp.MustCompile(`(?m)^(\d{1,9})$`)
	todoPlace   = regexp.MustCompile(`(?m)^(.+?):(\d+):(.*)$`)
	// mode, type, hash and size, then a tab and the path
	trackedFile = regexp.MustCompile(`(?m)^\d+ blob [0-9a-f]+ +(\d{1,15})\t(.+)$`)
	// inode, blocks, mode, links, owner, group, size, three words of time, path
	foundFile = regexp.MustCompile(`(?m)^ *\d+ +\d+ +\S+ +\d+ +\S+ +\S+ +(\d{1,15}) +\S+ +\S+ +\S+ +(?:\./)?(.+)$`)
)

// number reads digits that a pattern has found.
func number(digits string) int {
	n, _ := strconv.Atoi(digits) // at most 15 digits
	return n
}

// bytesOf writes a size in the unit that suits it.
func bytesOf(n int) string {
	switch {
	case n >= 1<<30:
		return fmt.Sprintf("%.1f GB", float64(n)/(1<<30))
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.0f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}
