package demo

import (
	"cmp"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

const (
	chaosOrders = "orders.csv"
	chaosHang   = "hang.sh"
	chaosFlood  = "flood.sh"
	chaosLedger = "ledger.sh"

	chaosAfter = time.Second            // the retry-after of the refused call
	chaosBase  = 40 * time.Millisecond  // before the first retry of other failures
	chaosTries = 2                      // retries of a call
	chaosLimit = 400 * time.Millisecond // for the command that hangs

	chaosLines  = 400_000 // what flood.sh writes
	chaosBytes  = 20_000_000
	chaosMiddle = chaosLines / 2 // a line in neither end of it
)

// newChaos makes the scenario chaos: plain work in a folder of its own, in which
// everything goes wrong.
func newChaos(c *demoCall, temp string) (*showing, error) {
	temp, err := filepath.Abs(temp)
	if err != nil {
		return nil, fmt.Errorf("finding the folder: %w", err)
	}
	if err := unpackChaos(temp); err != nil {
		return nil, err
	}
	fate := "(removed at the end; --keep keeps it)"
	if c.keep {
		fate = "(kept)"
	}
	ws := &workspace.Workspace{Root: temp, OutputDir: temp}
	k := &chaos{faults: newFaults(chaosFaults()...), dir: filepath.Join(temp, "ledger")}
	return &showing{
		title: "chaos", place: temp + " " + fate, workspace: ws,
		terms: fmt.Sprintf("set short for the demo: %d retries from %v on, %v for the command that hangs", chaosTries, chaosBase, chaosLimit),
		task:  "Sum up " + chaosOrders + ", and tell what " + chaosHang + " and " + chaosFlood + " do.",
		tools: []tool.Tool{tools.Read(ws), tools.Bash(ws), wordTool()},
		policy: permission.Policy{
			Mode:  permission.DontAsk,
			Allow: []permission.Rule{"Bash(sh " + chaosHang + ")", "Bash(sh " + chaosFlood + ")"},
		},
		retry:     &agent.Retry{Tries: chaosTries, Base: chaosBase},
		fallbacks: []string{demoBackup},
		answer:    k.answer, faults: k.faults, epilogue: k.crash,
		next: [3]demoStep{
			{"openagent demo fix", "fixes a program, and asks you once"},
			{"openagent doctor", "says what is missing for a real model"},
			{`openagent -p "What does this project do?"`, "asks a real model; needs a key"},
		},
	}, nil
}

// unpackChaos writes the files of the scenario.
func unpackChaos(temp string) error {
	for _, name := range []string{chaosOrders, chaosHang, chaosFlood, path.Join("ledger", chaosLedger)} {
		data, err := fs.ReadFile(demoFiles, "demo/"+path.Base(name))
		if err != nil {
			return err
		}
		file := filepath.Join(temp, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, data, 0o600)); err != nil {
			return fmt.Errorf("writing the demo's files: %w", err)
		}
	}
	return nil
}

type wordInput struct {
	Text string `json:"text"`
	N    int    `json:"n" jsonschema:"which word, from 0"`
}

// wordTool returns a tool with a bug: it trusts its input.
func wordTool() tool.Tool {
	return tool.Func(tool.Spec{Name: "Word", Description: "Returns the nth word of a text.", ReadOnly: true},
		func(_ context.Context, in wordInput) (string, error) { return strings.Fields(in.Text)[in.N], nil })
}

// chaos is the scenario while it goes on.
type chaos struct {
	faults *faults
	dir    string // of the process that is killed
}

// answer is the model of the scenario chaos, and the network to it.
func (k *chaos) answer(t *conversation) llmtest.Step {
	switch {
	case k.faults.inject(rateLimit):
		return llmtest.Step{Status: http.StatusTooManyRequests, Header: http.Header{"Retry-After": {strconv.Itoa(int(chaosAfter.Seconds()))}}}
	case k.faults.inject(cutStream):
		return llmtest.Step{Text: "These words are on their way when the connection breaks, and nobody will", CutAfter: 7, Cut: ""}
	case !t.has("broken"):
		k.faults.inject(brokenInput)
		return llmtest.Step{Text: "I begin with the orders.", Calls: uses(llm.ToolUse{ID: "broken", Name: "Read", Invalid: `{"file_path": "` + chaosOrders + `", "lim`})}
	case !t.has("corrected"):
		return llmtest.Step{Text: "My input was not valid JSON. I send it again.", Calls: uses(llmtest.Use("corrected", "Read", map[string]any{"file_path": chaosOrders}))}
	case !t.has("types"):
		k.faults.inject(wrongTypes)
		return llmtest.Step{Text: "The head of it, for the names of the columns.", Calls: uses(llmtest.Use("types", "Read", map[string]any{"file_path": chaosOrders, "limit": "1"}))}
	case !t.has("hang"):
		k.faults.inject(hungTool)
		return llmtest.Step{Text: "Now " + chaosHang + ".", Calls: uses(llmtest.Use("hang", "Bash", map[string]any{"command": "sh " + chaosHang, "timeout": chaosLimit.Milliseconds()}))}
	case !t.has("panic"):
		k.faults.inject(panicking)
		return llmtest.Step{Text: "It does not end. A word of its output?", Calls: uses(llmtest.Use("panic", "Word", wordInput{Text: "waiting in process", N: 9}))}
	case !t.has("flood"):
		k.faults.inject(flooding)
		return llmtest.Step{Text: "That tool is broken. On with " + chaosFlood + ".", Calls: uses(shell("flood", "sh "+chaosFlood))}
	case !t.has("middle") && keptFile.MatchString(t.text("flood")):
		file := keptFile.FindStringSubmatch(t.text("flood"))[1]
		return llmtest.Step{Text: "I see both ends of it. A line from the middle, out of the file:", Calls: uses(
			llmtest.Use("middle", "Read", map[string]any{"file_path": file, "offset": chaosMiddle, "limit": 1}))}
	case t.model == demoRules:
		k.faults.inject(overload)
		return llmtest.Step{Status: 529}
	}
	head, rest := halves(t.chaosSummary())
	if k.faults.inject(cutAnswer) {
		return llmtest.Step{Text: head, Stop: llm.MaxTokens}
	}
	return llmtest.Say(rest)
}

// halves cuts a text in the middle of a word, if it has one there or later.
func halves(text string) (head, rest string) {
	at := len(text) / 2
	if i := insideWord.FindStringIndex(text[at:]); i != nil {
		at += i[0] + 2
	}
	for at > 0 && !utf8.RuneStart(text[at]) {
		at--
	}
	return text[:at], text[at:]
}

var (
	keptFile    = regexp.MustCompile(`the whole output is in (.+) …\]`)
	hungProcess = regexp.MustCompile(`process (\d{1,9})`)
	insideWord  = regexp.MustCompile(`[a-z]{4}`)
	floodLine   = regexp.MustCompile(`line (\d{7}) `)
)

// chaosSummary is the end of the story, from what the tools returned.
func (t *conversation) chaosSummary() string {
	var b strings.Builder
	rows, err := csv.NewReader(strings.NewReader(shownText(t.output("corrected")))).ReadAll()
	sum := 0
	for _, row := range rows {
		cents, _ := strconv.Atoi(row[len(row)-1]) // the header is no number
		sum += cents
	}
	fmt.Fprintf(&b, "%s holds %s that come to %d.%02d", chaosOrders, cli.Plural(max(0, len(rows)-1), "order"), sum/100, sum%100)
	if err != nil {
		fmt.Fprintf(&b, " (in part: %v)", err)
	}
	fmt.Fprintf(&b, ".\n%s: %s\n", chaosHang, cmp.Or(lastLine(t.text("hang")), "no result"))
	ends := floodLine.FindAllStringSubmatch(t.text("flood"), -1)
	if len(ends) == 0 {
		return b.String() + chaosFlood + ": no result"
	}
	fmt.Fprintf(&b, "%s writes lines %s to %s", chaosFlood, ends[0][1], ends[len(ends)-1][1])
	if m := floodLine.FindStringSubmatch(t.output("middle")); m != nil {
		fmt.Fprintf(&b, ", and line %s is where it belongs", m[1])
	}
	return b.String() + "."
}

func lastLine(s string) string {
	s = strings.TrimSpace(s)
	return s[strings.LastIndexByte(s, '\n')+1:]
}
