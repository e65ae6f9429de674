//go:build linux

package pairs

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/golden"
)

var update = flag.Bool("update", false, "write docs/feature_pairs.md")

// ingredients say what each feature brings to a scenario.
var ingredients = map[string]string{
	"sandbox":    "the operating system confines commands; skipped if it cannot",
	"worktree":   "the agent, or the sub-agent, works in a git worktree; the main tree does not change",
	"sub-agent":  "an agent does part of the work",
	"background": "a command that sleeps, or the sub-agent, works in the background; nothing is left of it",
	"plan mode":  "the agent plans first; a call that changes something is refused until the plan is approved",
	"resume":     "the program is killed twice, and resumed",
	"fork":       "a fork continues by itself; the original does not change",
	"rewind":     "files are rewound to before the prompt",
	"skill":      "the agent runs a skill",
	"MCP":        "the calls that change something are made by the process of an MCP server",
	"defer":      "a decision is deferred: the run is suspended, answered and resumed",
	"approval":   "a tool needs approval, from another program; it comes while the run is suspended, also of sub-agents and forks",
	"options":    "the prompt has its own model, mode, budget and tools; they hold for sub-agents and after a kill, and not for forks",
	"hook":       "a hook changes the input of each call that changes something",
	"batch":      "the calls are made in batches",
	"memory":     "the agent knows what an earlier session learned, confirms it and adds to it",
}

// also are further tests of single pairs.
var also = map[string]string{
	"plan mode × resume": "`agent.TestModeOfNextSession` `cmd/openagent/testdata/planmode.txtar`",
	"plan mode × fork":   "`cmd/openagent/testdata/planmode.txtar`",
	"plan mode × defer":  "`cmd/openagent/testdata/planmode.txtar`",
	"resume × defer":     "`agent.TestSuspendedRunCountsOnce` `internal/engine/testdata/idletime.txtar`",
	"sub-agent × resume": "`agent.TestToolThatKills`",
	"resume × batch":     "`agent.TestToolThatKills` `internal/engine/testdata/repeats.txtar`",
	"defer × hook":       "`agent.TestChangedInputIsAskedAbout`",
	"hook × batch":       "`agent.TestChangedInputIsAskedAbout`",
}

// The page says which test covers each pair of features, and no pair is covered by none.
func TestDocs(t *testing.T) {
	covered := map[string]bool{}
	for _, f := range scenarios() {
		covered[f.String()] = true
	}
	var table, what strings.Builder
	table.WriteString("| pair | tests |\n|---|---|\n")
	what.WriteString("| feature | in a scenario |\n|---|---|\n")
	for i, a := range all {
		if ingredients[a] == "" {
			t.Errorf("nothing says what %s brings to a scenario", a)
		}
		fmt.Fprintf(&what, "| %s | %s |\n", a, ingredients[a])
		for _, b := range all[i+1:] {
			pair := features{a, b}.String()
			if !covered[pair] {
				t.Errorf("no test covers %s", pair)
			}
			fmt.Fprintf(&table, "| %s | %s |\n", pair, strings.TrimSpace("`TestPairs/"+strings.ReplaceAll(pair, " ", "_")+"` "+also[pair]))
		}
	}
	golden.File(t, filepath.Join("..", "..", "docs", "feature_pairs.md"), head+what.String()+"\n## Pairs\n\n"+table.String(), *update)
}

const head = `# Pairs of features

Features that work alone can fail together.
So a generator runs every pair of the features below, in package internal/pairs.
Each pair runs twice in programs of its own: whole, and killed before a random record and resumed.

` + "```sh\ngo test ./internal/pairs                             # every pair\ngo test ./internal/pairs -run Pairs -seed 7           # killed at other moments\ngo test ./internal/pairs -run Triples -triples 50     # combinations of three\n```" + `

After each run these hold:

- Every call has one result, and every session has ended.
- A strict server has accepted every request to the model.
- No call that changes something ran twice. In a run that was not killed each ran once.
- Denied calls stayed denied: a file that must not be read is in no journal, and a file outside of the folder did not change.
- With the sandbox, a script that hides its paths from the rules ran confined: it read no denied file, in no worktree, and wrote nothing outside.
- Nothing was written in plan mode. An agent in a worktree wrote nothing in the main tree.
- A call that needs approval ran with the approval of the person who gave it. Options of the prompt held to its end, and not in its fork.
- A call whose input a hook changed did not run as the model wrote it.
- Rewinding brought every file of the main tree back byte for byte, and a fork did not change the original's journal.
- Turns and tokens are counted once, those of sub-agents included.
- The session was told once what was learned before. What it added to the memory is there once as a candidate, and nothing of plan mode.
- No goroutine and no process is left.

This page is written by ` + "`go test ./internal/pairs -run Docs -update`" + `, which fails if a pair has no test.

## Features

`
