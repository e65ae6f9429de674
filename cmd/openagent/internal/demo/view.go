package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/preview"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
	"github.com/openagent-go/agent/cmd/openagent/internal/streamjson"
	"github.com/openagent-go/agent/cmd/openagent/internal/term"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/internal/terminal"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

const (
	demoWidth  = 78  // columns
	demoWide   = 120 // of what is worth more
	demoColumn = 54  // where the outcome of a call stands
	demoBody   = 12  // lines shown of the output of a command

	inStruck = "9" // crossed out

	readingTime = 500 * time.Millisecond
)

// A demoView shows a demo to people, in colours where the terminal has them.
type demoView struct {
	host    *cli.IO
	scene   *showing
	colours bool
	asks    bool          // a person is asked; else a rule says yes
	reading time.Duration // that a person needs to read a question: earlier answers do not count
	answers chan permission.Decision

	err       error  // of writing
	session   string // the first one that was seen: its times count
	apart     bool   // what comes next stands apart
	streamed  string // the key of the last answer that came in pieces
	found     []trial
	column    bool // something stands in the line being written
	calls     *streamjson.Calls
	decisions map[string]permission.Decision

	told    int  // calls that have a result
	refused bool // the person said no
	viewTimes
}

// viewTimes say where the time of a run went.
type viewTimes struct {
	tools, person, retry time.Duration
	running              map[string]bool // calls
	since                time.Time       // when the first of them began
	failed               time.Time       // when the model failed, zero once it is called again
}

func newDemoView(h *cli.IO, s *showing) *demoView {
	v := &demoView{
		host: h, scene: s, asks: h.InTerminal && h.OutTerminal,
		colours: h.Getenv("TERM") != "" && settings.Colours(h),
		answers: make(chan permission.Decision), calls: streamjson.NewCalls(), decisions: map[string]permission.Decision{}, viewTimes: viewTimes{running: map[string]bool{}},
	}
	if _, ok := h.In.(*os.File); ok && v.asks {
		v.reading = readingTime
	}
	return v
}

// decide answers a question about permission: the person's answer, which event
// gets, or the rule's.
func (v *demoView) decide(ctx context.Context, _ tool.Call, verdict permission.Decision) (permission.Decision, error) {
	switch {
	case verdict.Behavior != permission.Asked:
		return permission.Decision{}, nil
	case !v.asks:
		return permission.Allow(), nil
	}
	select {
	case d := <-v.answers:
		return d, nil
	case <-ctx.Done():
		return permission.Decision{}, ctx.Err()
	}
}

func (v *demoView) event(ctx context.Context, e event.Event) error {
	if v.session == "" {
		v.session = e.Session
		v.begin()
	}
	if e.Session == v.session {
		v.measure(e)
	}
	switch d := e.Data.(type) {
	case event.TextDelta:
		v.streamed = d.Key
		v.text(d.Text)
	case event.UserMessage:
		v.said(d)
	case event.Resumed:
		v.line(term.Dim, "resumes from the journal")
	case event.ModelFailed:
		v.withdraw(d)
	case event.AssistantMessage:
		if v.streamed != d.Key {
			v.text(d.Response.Message.Content.Text())
		}
		v.endLine()
		for i, u := range d.Response.Message.ToolUses() {
			v.calls.Add(streamjson.CallID(e.Seq, i), u)
		}
	case fact.Authorized:
		v.decisions[d.Call] = d.Decision
	case fact.Answered:
		v.decisions[d.Call] = d.Decision
	case event.PermissionRequest:
		v.question(ctx, d)
	case event.ToolResult:
		v.result(d)
	case event.AgentEvent:
		v.under(d)
	}
	return v.err
}

// measure adds up where the time goes, and the calls.
func (v *demoView) measure(e event.Event) {
	switch d := e.Data.(type) {
	case fact.ModelStart:
		if !v.failed.IsZero() {
			v.retry += e.Time.Sub(v.failed)
			v.failed = time.Time{}
		}
	case event.ModelFailed:
		v.failed = e.Time
	case event.ToolStart:
		if len(v.running) == 0 {
			v.since = e.Time
		}
		v.running[d.Call] = true
	case event.ToolResult:
		v.told++
		if delete(v.running, d.Call); len(v.running) == 0 && !v.since.IsZero() {
			v.tools += e.Time.Sub(v.since)
			v.since = time.Time{}
		}
	}
}

// said shows what the model is told: a prompt, or that it should go on.
func (v *demoView) said(m event.UserMessage) {
	text := v.host.OneLine(m.Message.Content.Text())
	switch m.Delivery {
	case fact.AsPrompt:
		v.endLine()
		v.write(v.paint(term.Bold, "> "+text) + "\n")
	case fact.AsContinue:
		v.line(term.Dim, "  the answer was cut off; the model is told: "+text)
	}
}

// withdraw says that an answer came to nothing, with what had been shown of it.
func (v *demoView) withdraw(d event.ModelFailed) {
	v.endLine()
	if d.Partial != "" {
		v.write("  " + v.paint(term.Dim, "  withdrawn: ") + v.paint(inStruck, text.Runes(v.host.OneLine(d.Partial), demoWidth-13)) + "\n")
	}
	v.line(term.Red, "  the model failed: "+text.Runes(v.host.OneLine(d.Message), demoWide-20))
}

// fault shows how a fault went.
func (v *demoView) fault(f trial) error {
	v.endLine()
	v.found = append(v.found, f)
	word, colour := "survived", term.Green
	if !f.Survived {
		word, colour = "LOST    ", term.Red
	}
	v.write("    " + v.paint(term.Bold, fmt.Sprintf("fault %-2d  %s", len(v.found), f.Fault)) + "\n")
	if f.Injected != "" {
		v.write("    " + v.paint(term.Yellow, "injected") + "  " + text.Runes(v.host.OneLine(f.Injected), demoWide-14) + "\n")
	}
	v.write("    " + v.paint(colour, word) + "  " + text.Runes(v.host.OneLine(f.Detail), demoWide-14) + "\n")
	v.apart = true
	return v.err
}

// begin shows what is real and what is not.
func (v *demoView) begin() {
	v.write(v.paint(term.Bold, "openagent demo "+v.scene.title) + "   " + v.paint(term.Yellow, "the model is simulated: its replies are rules") + "\n")
	v.write(v.paint(term.Dim, strings.Repeat(" ", len("openagent demo "+v.scene.title))+"   loop, wire, tools, files and permissions are real") + "\n\n")
	v.write(v.paint(term.Dim, "in ") + v.host.OneLine(v.scene.place) + "\n")
	if v.scene.terms != "" {
		v.write(v.paint(term.Dim, v.scene.terms) + "\n")
	}
	v.apart = true
}

// text shows a piece of what the model says.
func (v *demoView) text(s string) {
	if s == "" {
		return
	}
	if !v.column {
		v.write("\n")
	}
	v.column, v.apart = true, false
	v.write(terminal.Text(s))
}

func (v *demoView) endLine() {
	if v.column {
		v.write("\n")
	}
	if v.apart {
		v.write("\n")
	}
	v.column, v.apart = false, false
}

// question shows what a call would change, and gets a person's answer.
func (v *demoView) question(ctx context.Context, q event.PermissionRequest) {
	u, _ := v.calls.Get(q.Call.ID)
	v.line(term.Yellow, v.mark("?", "?")+v.label(u)+" needs permission")
	for _, line := range changedLines(q.Preview) {
		v.body(line, colourOf(line))
	}
	if !v.asks {
		v.body("nobody to ask: a rule of the demo says yes", term.Dim)
		return
	}
	start := time.Now()
	yes, ok := v.ask(ctx, "Allow this? [y/n] ")
	v.person += time.Since(start)
	if !ok {
		v.write("\n")
		return
	}
	d := permission.Decision{Behavior: permission.Allowed, Source: policies.FromPerson}
	if !yes {
		d = permission.Decision{Behavior: permission.Denied, Source: policies.FromPerson, Reason: "the person said no"}
		v.refused = true
	}
	select {
	case v.answers <- d:
	case <-ctx.Done():
	}
}

// ask asks for a yes or a no. The end of input is a no. It reports false when ctx ends first.
// What was typed before a person can have read the question is no answer.
func (v *demoView) ask(ctx context.Context, question string) (yes, ok bool) {
	v.host.DiscardInput()
	asked := time.Now()
	for {
		v.write(v.edge() + v.paint(term.Bold, question))
		line, err := v.host.ReadLine(ctx)
		question = "Please type y or n: "
		switch answer := strings.ToLower(strings.TrimSpace(line)); {
		case ctx.Err() != nil:
			return false, false
		case err != nil:
			v.write("\n")
			return false, true
		case time.Since(asked) < v.reading:
			question = "Too early: read the change first. Please type y or n: "
			v.host.DiscardInput()
		case answer == "y" || answer == "yes":
			return true, true
		case answer == "n" || answer == "no":
			return false, true
		}
	}
}

// result shows a call with what came of it.
func (v *demoView) result(d event.ToolResult) {
	v.endLine()
	u, _ := v.calls.Get(d.Call)
	how, colour, sign := outcomeText(d), term.Green, v.mark("●", "*")
	switch {
	case d.Cause == fact.ByDenial:
		colour, sign = term.Red, v.mark("✗", "x")
		how = "denied"
		switch why := v.decisions[d.Call]; {
		case why.Rule != "":
			how = "denied: rule " + why.Rule
		case why.Source == policies.FromPerson:
			how = "denied by you"
		}
	case d.Result.IsError:
		colour = term.Red
	}
	label := v.label(u)
	gap := max(1, demoColumn-len([]rune(label)))
	v.write("  " + v.paint(colour, sign) + label + strings.Repeat(" ", gap) + v.paint(colour, v.host.OneLine(how)) + "\n")
	if v.scene.bodies && u.Name == "Bash" && d.Cause == fact.ByTool {
		v.output(d.Result.Text())
	}
}

// output shows what a command wrote: the end of it, if it is long.
func (v *demoView) output(text string) {
	text, _, _ = strings.Cut(text, "Exit code: ") // stands beside the call
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if more := len(lines) - demoBody; more > 0 {
		v.body(fmt.Sprintf("(%d more lines)", more), term.Dim)
		lines = lines[more:]
	}
	for _, line := range lines {
		colour := term.Dim
		if strings.HasPrefix(line, "FAIL") {
			colour = term.Red
		}
		v.body(line, colour)
	}
}

// label names a call in a few words: the tool and what it is about.
func (v *demoView) label(u llm.ToolUse) string {
	var in struct {
		FilePath string `json:"file_path"`
		Command  string `json:"command"`
		Pattern  string `json:"pattern"`
		Glob     string `json:"glob"`
		What     string `json:"description"`
	}
	about := ""
	if json.Unmarshal(u.Input, &in) == nil {
		about = cmp.Or(in.FilePath, in.Command, strings.TrimSpace(in.Pattern+" "+in.Glob), in.What)
	}
	return text.Runes(" "+v.host.OneLine(u.Name+" "+about), demoColumn-2)
}

// outcomeText says in a few words what came of a call.
func outcomeText(d event.ToolResult) string {
	var of struct {
		ExitCode  *int   `json:"exitCode"`
		Files     *int   `json:"files"`
		Matches   *int   `json:"matches"`
		Mode      string `json:"mode"`
		Additions *int   `json:"additions"`
		Deletions *int   `json:"deletions"`
	}
	_ = json.Unmarshal(d.Result.Details, &of) // without details the text speaks
	said := strings.TrimSpace(d.Result.Text())
	switch {
	case d.Cause == fact.ByCrash:
		return "outcome unknown"
	case d.Fault != toolrun.NoFault && d.Fault != toolrun.Refused:
		return "error: " + string(d.Fault)
	case of.ExitCode != nil:
		return fmt.Sprintf("exit %d", *of.ExitCode)
	case d.Result.IsError:
		return text.Runes(text.FirstLine(said), demoWidth-demoColumn)
	case of.Additions != nil && of.Deletions != nil:
		return fmt.Sprintf("+%d -%d lines", *of.Additions, *of.Deletions)
	case of.Matches != nil && of.Files != nil:
		return fmt.Sprintf("%s in %s", cli.Plural(*of.Matches, "line"), cli.Plural(*of.Files, "file"))
	case of.Files != nil:
		return cli.Plural(*of.Files, "file")
	}
	return cli.Plural(strings.Count(said, "\n")+1, "line")
}

// finish shows the end card.
func (v *demoView) finish(_ context.Context, end event.RunEnd) error {
	v.apart = true
	v.endLine()
	v.write(v.paint(term.Dim, v.rule("end of the simulated run ")) + "\n")
	how := string(end.Reason)
	switch {
	case v.refused:
		how += ", and your no was obeyed"
	case end.Message != "" && end.Reason != event.Interrupted:
		how += ": " + v.host.OneLine(end.Message)
	}
	v.row("end", fmt.Sprintf("%s; %s, %s, %d denied", how, cli.Plural(end.Turns, "turn"), cli.Plural(v.told, "call"), len(end.Denials)))
	if v.scene.faults != nil {
		v.row("faults", v.scene.faults.score())
	}
	v.row("time", fmt.Sprintf("%s in all: model %s, tools %s, person %s, retry %s",
		secondsOf(end.Duration), secondsOf(end.API), secondsOf(v.tools), secondsOf(v.person), secondsOf(v.retry)))
	v.row("tokens", fmt.Sprintf("%s in, %s out, estimated", cli.Thousands(end.Usage.Context()), cli.Thousands(end.Usage.Output)))
	if end.CostUSD != nil {
		v.row("cost", fmt.Sprintf("$%.4f simulated, at the prices of %s; you paid nothing", *end.CostUSD, demoPrices))
	}
	width := 0
	for _, s := range v.scene.next {
		width = max(width, len(s.command))
	}
	for i, s := range v.scene.next {
		v.row([]string{"next", "", ""}[i], fmt.Sprintf("%-*s  %s", width, s.command, v.paint(term.Dim, s.about)))
	}
	return v.err
}

// under shows the calls of an agent that works for the one of the demo.
func (v *demoView) under(d event.AgentEvent) {
	if d.Event == nil {
		return
	}
	if m, ok := d.Event.Data.(event.AssistantMessage); ok {
		for _, u := range m.Response.Message.ToolUses() {
			v.line(term.Dim, "  "+v.host.OneLine(d.Agent)+" | "+u.Name+" "+text.Runes(v.host.OneLine(preview.InputSummary(u.Input)), demoWidth-20))
		}
	}
}
