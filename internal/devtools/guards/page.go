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
The [last tables](#repairs) list defects that are gone since there are these guards.
The last column says whether the first ` + programs + ` programs of the [simulator](simulator.md) notice it as well, without knowing of the guard.
A "no" often means that another guard holds as well, such as the second judgement of each call.
Where the column is empty, the simulator was not asked.

` + "`make guards`" + ` proves it: it switches off one guard at a time, in a copy that only the compiler sees, and runs the tests of its row.
That takes long, so CI only checks that each guard's text is still in the code once, and that the code compiles without it.
It also tries one of the guards.

The rows are in [internal/devtools/guards](../internal/devtools/guards/main.go), and this page is written from them:

` + "```sh" + `
make guards                    # try all guards
make guards ARGS="-run fence"  # try the guards whose name matches
make guards ARGS="-from 120"   # continue a run that was stopped; each line of the output begins with a number
make guards ARGS=-simulator    # ask the simulator as well about the guards with an answer of it
make guards ARGS=-update       # try all guards, and write this page if each is noticed
` + "```" + `

The last run tried 253 of the 273 guards that this page had then, in pieces, and tests noticed each. The first piece had 132 guards.
It took 63 minutes on two processors that were busy with other work, and 7 minutes of processor time. All other guards were tried in smaller runs.
The simulator was asked about 61 guards, which took about half a minute for each. It notices 17 of them.
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
			fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", cell(g.Name), cell(prevents), titles(g.Tests), g.Simulator)
		}
	}
	byName := map[string]Guard{}
	for _, a := range all() {
		for _, g := range a.guards {
			byName[g.Name] = g
		}
	}
	b.WriteString("\n## Repairs\n\nThese defects were repaired. Each is back without the guards of its row.\n")
	for _, list := range []struct {
		found   string
		repairs []repair
	}{{"Found by using the whole program", repairs}, {"Found by attacks on the whole program", attacked}} {
		fmt.Fprintf(&b, "\n%s:\n\n| defect | guards | noticed by |\n|---|---|---|\n", list.found)
		for _, r := range list.repairs {
			var tests []Test
			for _, name := range r.guards {
				tests = append(tests, byName[name].Tests...)
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", cell(r.defect), cell(strings.Join(r.guards, "; ")), titles(tests))
		}
	}
	return b.String()
}

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
