package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A Guard is a place in the code that prevents something, and the tests that notice when it is gone.
type Guard struct {
	// Name says what the guard is, in a few words. It is unique.
	Name string
	// Prevents is one sentence about what would happen without it.
	Prevents string
	// Edits switch the guard off, together.
	Edits []Edit
	// Tests are the tests that must fail then, each of them.
	Tests []Test
	// Note says what else there is to know, such as a second guard behind this one.
	Note string
	// Simulator says whether the simulator notices as well, within its first programs.
	Simulator Answer
}

// An Answer is what the simulator says of a guard.
type Answer string

// What the simulator may say. It was not asked about the other guards: it makes no programs about them.
const (
	Notices Answer = "yes"
	Silent  Answer = "no"
)

// An Edit is a change of one file.
type Edit struct {
	// File is a path from the root of the repository.
	File string
	// Old occurs exactly once in the file, and New takes its place.
	Old, New string
}

// A Test is a test of a package, or a part of one: its name is that of `go test -v`.
type Test struct {
	// Package is a folder, from the root of the repository.
	Package, Name string
}

// off makes the edit of a guard that one change switches off.
func off(file, old, new string) []Edit { return []Edit{{file, old, new}} }

// in lists tests of a package.
func in(folder string, names ...string) []Test {
	var tests []Test
	for _, name := range names {
		tests = append(tests, Test{folder, name})
	}
	return tests
}

// also joins lists of tests of several packages.
func also(lists ...[]Test) []Test {
	var all []Test
	for _, list := range lists {
		all = append(all, list...)
	}
	return all
}

// all lists the guards by area, in the order of the page.
func all() []area {
	return []area{
		{"Sessions", sessions},
		{"Calls of tools", calls},
		{"Limits", limits},
		{"Sub-agents", agents},
		{"Rules and files", rules},
		{"Secrets and texts", secrets},
		{"Processes and the sandbox", machine},
		{"Models, servers and hosts", peers},
		{"Serving sessions", server},
		{"Pages, browsers and links", browsers},
		{"Many machines", many},
		{"Memory, evaluations and replays", learned},
		{"Skills that improve, and suggestions", improved},
		{"Features together", together},
		{"What attacks found", attacks},
	}
}

// An area is a chapter of the page.
type area struct {
	name   string
	guards []Guard
}

// mutate returns the changed texts of the guard's files, by path.
func (g Guard) mutate(root string) (map[string]string, error) {
	files := map[string]string{}
	for _, e := range g.Edits {
		text, ok := files[e.File]
		if !ok {
			data, err := os.ReadFile(filepath.Join(root, e.File))
			if err != nil {
				return nil, err
			}
			text = string(data)
		}
		if n := strings.Count(text, e.Old); n != 1 {
			return nil, fmt.Errorf("%s has the text of the guard %q %d times, not once: change the guard's edit to what the code is now.\n%s", e.File, g.Name, n, e.Old)
		}
		files[e.File] = strings.Replace(text, e.Old, e.New, 1)
	}
	return files, nil
}

// packages returns the folders of the guard's files.
func (g Guard) packages() []string {
	var folders []string
	seen := map[string]bool{}
	for _, e := range g.Edits {
		if folder := filepath.ToSlash(filepath.Dir(e.File)); !seen[folder] {
			seen[folder] = true
			folders = append(folders, folder)
		}
	}
	return folders
}
