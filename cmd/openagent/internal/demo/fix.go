package demo

import (
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/subagent"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

//go:embed demo
var demoFiles embed.FS

const (
	fixCode = "cart.sh"
	fixTest = "test.sh"
)

// newFix makes the scenario fix: a program with a bug in a folder of its own.
func newFix(c *demoCall, temp string) (*showing, error) {
	ws := &workspace.Workspace{Root: temp}
	for _, name := range []string{fixCode, fixTest} {
		data, err := demoFiles.ReadFile("demo/" + name)
		if err != nil {
			return nil, err
		}
		if err := os.WriteFile(filepath.Join(ws.Root, name), data, 0o600); err != nil {
			return nil, fmt.Errorf("writing the demo's program: %w", err)
		}
	}
	fate := "(removed at the end; --keep keeps it)"
	if c.keep {
		fate = "(kept)"
	}
	return &showing{
		title: "fix", place: ws.Root + " " + fate, workspace: ws, bodies: true,
		task:  "The tests of " + fixCode + " fail. Find out why and fix it.",
		tools: []tool.Tool{tools.Read(ws), tools.Edit(ws), tools.Bash(ws), tools.Agent(new(subagent.Manager))},
		policy: permission.Policy{
			Allow: []permission.Rule{"Bash(sh " + fixTest + ")"},
			Deny:  []permission.Rule{"Bash(rm *)"},
		},
		retry:  &agent.Retry{Tries: -1},
		answer: answerFix,
		next: [3]demoStep{
			{"openagent demo survey --dir .", "reads a folder of yours and changes nothing"},
			{"openagent doctor", "says what is missing for a real model"},
			{`openagent -p "What does this project do?"`, "asks a real model; needs a key"},
		},
	}, nil
}

// answerFix is the model of the scenario fix. All it knows is in the results.
func answerFix(t *conversation) llmtest.Step {
	switch {
	case t.subagent:
		return t.lookUp()
	case !t.has("before"):
		return llmtest.Step{Text: "I read the program and its tests, and run them.", Calls: uses(
			llmtest.Use("code", "Read", map[string]string{"file_path": fixCode}),
			llmtest.Use("tests", "Read", map[string]string{"file_path": fixTest}),
			shell("before", "sh "+fixTest))}
	case !t.has("divides"):
		return llmtest.Step{Text: "Two agents look at once: one for divisions, one for what the tests want.", Calls: uses(
			explorer("divides", "divides", "Divisions", "grep -n / "+fixCode), explorer("wants", "wants", "What is wanted", "grep -n expect "+fixTest))}
	case !t.has("shortcut"):
		return t.tryShortcut()
	case !t.has("edit"):
		return t.tryRepair()
	case t.failed("edit"):
		return llmtest.Say("The edit did not happen. " + text.FirstLine(t.text("edit")) + ".\nSo I stop here: nothing has changed, and the tests still fail.")
	case !t.has("after"):
		return llmtest.Step{Text: "Now the tests again.", Calls: uses(shell("after", "sh "+fixTest))}
	}
	return llmtest.Say(t.fixSummary())
}

// explorer starts an agent that looks something up by a command.
func explorer(id, name, what, command string) llm.ToolUse {
	return llmtest.Use(id, "Agent", map[string]string{"subagent_type": "Explore", "name": name, "description": what, "prompt": "Look up: " + command})
}

// lookUp is the model of such an agent.
func (t *conversation) lookUp() llmtest.Step {
	_, command, _ := strings.Cut(t.prompt, ": ")
	if !t.has("look") {
		return llmtest.Step{Calls: uses(shell("look", command))}
	}
	return llmtest.Say(t.text("look"))
}

// tryShortcut looks at the first run of the tests and has a bad idea.
func (t *conversation) tryShortcut() llmtest.Step {
	sum, ok := tallyOf(t.text("before"))
	switch {
	case !ok:
		return llmtest.Say("The tests did not run to their end, so I change nothing:\n" + t.text("before"))
	case sum.failed == 0:
		return llmtest.Say(fmt.Sprintf("All %d tests pass. There is nothing to fix.", sum.passed))
	}
	text := fmt.Sprintf("%d of %d tests fail. The quickest way to green would be to remove them:", sum.failed, sum.passed+sum.failed)
	return llmtest.Step{Text: text, Calls: uses(shell("shortcut", "rm "+fixTest))}
}

// tryRepair looks for the bug.
func (t *conversation) tryRepair() llmtest.Step {
	text := "The tests are gone: the shortcut was not denied. "
	if t.failed("shortcut") {
		text = "Denied, and rightly. "
	}
	r, ok := findRepair(t.text("code"), t.text("before"))
	if !ok {
		return llmtest.Say(text + "I find no change of one number or operator that makes\nthe failing tests pass, so I change nothing.")
	}
	text += fmt.Sprintf("The bug is in line %d of %s: with %s in place of %s,\n%s gives %s, as the test wants.", r.line, fixCode, r.to, r.from, r.check, r.check.want)
	return llmtest.Step{Text: text, Calls: uses(llmtest.Use("edit", "Edit", map[string]string{"file_path": fixCode, "old_string": r.old, "new_string": r.new}))}
}

// fixSummary is the end of the story, from what the tools returned.
func (t *conversation) fixSummary() string {
	before, _ := tallyOf(t.text("before"))
	after, ok := tallyOf(t.text("after"))
	var b strings.Builder
	switch {
	case !ok:
		b.WriteString("The tests did not run to their end.\n")
	case after.failed > 0:
		b.WriteString("The tests still fail.\n")
	default:
		b.WriteString("Fixed: the tests pass.\n")
	}
	row := func(label, format string, args ...any) {
		fmt.Fprintf(&b, "  %-8s%s\n", label, fmt.Sprintf(format, args...))
	}
	row("before", "%d passed, %d failed", before.passed, before.failed)
	row("after", "%d passed, %d failed", after.passed, after.failed)
	if r, ok := findRepair(t.text("code"), t.text("before")); ok {
		row("changed", "%s, line %d: %s became %s", fixCode, r.line, r.from, r.to)
	}
	if rule := denyingRule.FindStringSubmatch(t.text("shortcut")); rule != nil {
		row("denied", "rm %s, by the rule %s", fixTest, rule[1])
	}
	return strings.TrimSuffix(b.String(), "\n")
}

var denyingRule = regexp.MustCompile(`rule (\w+\([^)]*\))`)

// A tally is how a run of the tests went.
type tally struct{ passed, failed int }

var tallyLine = regexp.MustCompile(`(?m)^(\d{1,6}) passed, (\d{1,6}) failed$`)

func tallyOf(output string) (tally, bool) {
	m := tallyLine.FindStringSubmatch(output)
	if m == nil {
		return tally{}, false
	}
	passed, _ := strconv.Atoi(m[1])
	failed, _ := strconv.Atoi(m[2])
	return tally{passed, failed}, true
}
