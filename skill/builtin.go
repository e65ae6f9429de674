package skill

import (
	"bytes"
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/openagent-go/agent/internal/front"
	"github.com/openagent-go/agent/internal/skillscope"
)

//go:embed builtin
var builtins embed.FS

// BuiltIn returns the skills that are part of the library: commit, review, simplify,
// debug and test. dir is the working directory, in which test looks for signs of a way
// to test.
func BuiltIn(dir string) []*Skill {
	var out []*Skill
	for _, name := range []string{"test", "debug", "simplify", "review", "commit"} {
		s, err := builtIn(name)
		if err != nil {
			panic(err) // the files are ours
		}
		if name == "test" {
			s.Available = func() bool { return testable(dir) }
		}
		out = append(out, s)
	}
	return out
}

func builtIn(name string) (*Skill, error) {
	data, err := fs.ReadFile(builtins, path.Join("builtin", name, skillscope.FileName))
	if err != nil {
		return nil, err
	}
	matter, body, err := front.Split(data, true, maxFront)
	if err != nil {
		return nil, err
	}
	s := &Skill{From: "built in", Instructions: string(bytes.TrimSpace(body))}
	notes, err := understand(matter, s)
	if err == nil && (len(notes) > 0 || s.Name != name) {
		err = fmt.Errorf("the skill %s: %v", name, notes)
	}
	return s, err
}

// signs are files beside which there is a way to run tests.
var signs = []string{"go.mod", "Package.swift", "Cargo.toml", "package.json", "pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg", "jest.config*", "vitest.config*",
	"Makefile", "CMakeLists.txt", "pom.xml", "build.gradle*", "Gemfile", "mix.exs", "composer.json", "*.sln", "*.csproj"}

func testable(dir string) bool {
	for _, sign := range signs {
		if found, err := filepath.Glob(filepath.Join(escaped(dir), sign)); err == nil && len(found) > 0 {
			if info, err := os.Stat(found[0]); err == nil && info.Mode().IsRegular() {
				return true
			}
		}
	}
	return false
}

// escaped is a folder's name as filepath.Glob takes it.
func escaped(dir string) string {
	var b bytes.Buffer
	for _, c := range dir {
		if filepath.Separator != '\\' && (c == '*' || c == '?' || c == '[' || c == '\\') {
			b.WriteByte('\\')
		}
		b.WriteRune(c)
	}
	return b.String()
}
