package main

import (
	"fmt"
	"slices"
	"strings"
)

// page is what -update writes.
const page = "docs/guards.md"

const head = `# Guards and the tests that watch them

A guard is a check that keeps an agent from doing what it must not do, or a session from losing what it has.
This page lists %d of them. Without the guard of a row, each test in its third column fails.
The [last table](#repairs) lists defects that are gone since there are these guards.
The last column says yes if the first ` + programs + ` programs of the [simulator](simulator.md) notice it as well, without knowing of the guard. Where it is empty, the simulator was not asked.

` + "`make guards`" + ` proves it: it switches off one guard at a time, in a copy that only the compiler sees, and runs the tests of its row.
That takes long, so CI only checks that each guard's text is still in the code once, and that the code compiles without it.
It also tries one of the guards.

The rows are in [internal/devtools/guards](../internal/devtools/guards/main.go), and this page is written from them:

` + "```sh" + `
make guards                    # try all guards
make guards ARGS="-run fence"  # try the guards whose name matches
make guards ARGS=-simulator    # run the simulator without each guard as well
make guards ARGS=-update       # try all guards, and write this page if each is noticed
` + "```" + `
`

// table is the text of the page.
func table() string {
	var b strings.Builder
	n := 0
	for _, a := range all() {
		n += len(a.guards)
	}
	fmt.Fprintf(&b, head, n)
	for _, a := range all() {
		fmt.Fprintf(&b, "\n## %s\n\n| guard | without it | noticed by | simulator |\n|---|---|---|---|\n", a.name)
		for _, g := range a.guards {
			prevents := g.Prevents
			if g.Note != "" {
				prevents += " " + g.Note
			}
			simulated := ""
			if g.Simulated {
				simulated = "yes"
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cell(g.Name), cell(prevents), titles(g.Tests), simulated)
		}
	}
	b.WriteString(repaired)
	byName := map[string]Guard{}
	for _, a := range all() {
		for _, g := range a.guards {
			byName[g.Name] = g
		}
	}
	for _, r := range repairs {
		var tests []Test
		for _, name := range r.guards {
			tests = append(tests, byName[name].Tests...)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(r.defect), cell(strings.Join(r.guards, "; ")), titles(tests))
	}
	return b.String()
}

const repaired = `
## Repairs

These defects were found by using the whole program. Each was repaired, and is back without the guards of its row.

| defect | guards | noticed by |
|---|---|---|
`

// titles lists tests, each once.
func titles(tests []Test) string {
	var list []string
	for _, t := range tests {
		if name := "`" + title(t.Package, t.Name) + "`"; !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return strings.Join(list, " ")
}

// cell keeps a text in its cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
