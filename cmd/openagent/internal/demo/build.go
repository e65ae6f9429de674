package demo

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A build is a file that tells how a project is tested.
type build struct {
	file    string
	command string                                        // "" if it depends on what is in the file
	reads   func(text string, t *conversation) (c string) // the command, by what is in the file
}

// builds are in the order of how much they say.
var builds = []build{
	{file: "Makefile", reads: makeTest},
	{file: "GNUmakefile", reads: makeTest},
	{file: "justfile", reads: justTest},
	{file: "go.mod", command: "go test ./..."},
	{file: "Cargo.toml", command: "cargo test"},
	{file: "package.json", reads: packageTest},
	{file: "deno.json", command: "deno test"},
	{file: "pyproject.toml", reads: pythonTest},
	{file: "tox.ini", command: "tox"},
	{file: "pytest.ini", command: "python3 -m pytest"},
	{file: "setup.py", command: "python3 -m pytest"},
	{file: "pom.xml", command: "mvn test"},
	{file: "gradlew", command: "./gradlew test"},
	{file: "build.gradle", command: "gradle test"},
	{file: "build.gradle.kts", command: "gradle test"},
	{file: "mix.exs", command: "mix test"},
	{file: "Gemfile", command: "bundle exec rake test"},
	{file: "composer.json", command: "composer test"},
	{file: "CMakeLists.txt", command: "ctest --test-dir build"},
	{file: "test.sh", command: "sh test.sh"},
}

// locks tell which package manager a JavaScript project uses.
var locks = []struct{ file, command string }{
	{"pnpm-lock.yaml", "pnpm test"}, {"yarn.lock", "yarn test"}, {"bun.lock", "bun run test"}, {"bun.lockb", "bun run test"},
}

// buildFiles are the names to look for.
func buildFiles() []string {
	var names []string
	for _, b := range builds {
		names = append(names, b.file)
	}
	for _, l := range locks {
		names = append(names, l.file)
	}
	return names
}

// hasBuild reports whether Glob found the file.
func (t *conversation) hasBuild(name string) bool {
	return slices.ContainsFunc(strings.Split(t.output("builds"), "\n"), func(path string) bool {
		return filepath.IsAbs(path) && filepath.Base(path) == name
	})
}

// readableBuilds are the files found whose content tells how to test.
func (t *conversation) readableBuilds() []string {
	var names []string
	for _, b := range builds {
		if b.reads != nil && t.hasBuild(b.file) {
			names = append(names, b.file)
		}
	}
	return names
}

// testCommands are the likely commands that test the project, the likeliest
// first, each with the file that tells.
func (t *conversation) testCommands() []string {
	var out []string
	readable := t.readableBuilds()
	for _, b := range builds {
		command := b.command
		if i := slices.Index(readable, b.file); i >= 0 {
			command = b.reads(shownText(t.output(buildID(i))), t)
		}
		if command != "" && t.hasBuild(b.file) {
			out = append(out, command+" ("+b.file+")")
		}
	}
	return out
}

// shownText returns the text of a file as the tool Read shows it.
func shownText(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if m := shownLine.FindStringSubmatch(strings.TrimSuffix(line, "\n")); m != nil {
			b.WriteString(m[2] + "\n")
		}
	}
	return b.String()
}

var (
	makeTarget  = regexp.MustCompile(`(?m)^(test|check)[ \t]*:(?:[^:=]|$)`)
	justTarget  = regexp.MustCompile(`(?m)^@?test\b[^\n]*:`)
	pythonTests = regexp.MustCompile(`pytest`)
)

func makeTest(text string, _ *conversation) string {
	if m := makeTarget.FindStringSubmatch(text); m != nil {
		return "make " + m[1]
	}
	return ""
}

func justTest(text string, _ *conversation) string {
	if justTarget.MatchString(text) {
		return "just test"
	}
	return ""
}

func packageTest(text string, t *conversation) string {
	var p struct {
		Scripts map[string]string `json:"scripts"`
	}
	if json.Unmarshal([]byte(text), &p) != nil || p.Scripts["test"] == "" {
		return ""
	}
	for _, l := range locks {
		if t.hasBuild(l.file) {
			return l.command
		}
	}
	return "npm test"
}

func pythonTest(text string, _ *conversation) string {
	if pythonTests.MatchString(text) {
		return "python3 -m pytest"
	}
	return "python3 -m unittest"
}
