package sim

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/llm/responses"
)

const (
	prompts = "PROMPT " // begins a prompt; its name follows
	done    = "done"    // the last answer to a prompt
)

// newModel returns a client of the strict provider, for one life.
func (w *world) newModel(l *life) llm.Model {
	client := w.server.Client()
	client = &http.Client{Transport: mortalClient{l, client.Transport}}
	const key = "key-of-the-provider"
	w.meet(cmp.Or(w.Wire, "anthropic"))
	switch w.Wire {
	case "openai":
		return paced{(&openai.Client{APIKey: key, BaseURL: w.server.URL, HTTP: client}).Model("gpt-4.1"), w}
	case "responses":
		return paced{(&responses.Client{APIKey: key, BaseURL: w.server.URL, HTTP: client}).Model("gpt-4.1"), w}
	}
	return paced{(&anthropic.Client{APIKey: key, BaseURL: w.server.URL, HTTP: client}).Model("claude-sonnet-4-6"), w}
}

// learn notes the scripts of an operation's prompts.
func (w *world) learn(o Op) {
	switch o := o.(type) {
	case Prompt:
		w.script(o.Name, o.Turns)
	case Rival:
		w.script(o.Name, o.Turns)
		w.script(o.Name+"first", o.Turns)
	case Again:
		if _, known := w.scripts[o.Name]; !known {
			w.script(o.Name, nil)
		}
	}
}

func (w *world) script(name string, turns []Turn) {
	w.scripts[name] = turns
	for i, t := range turns {
		for j, c := range t.Calls {
			w.script(fmt.Sprintf("%s.%d.%d", name, i, j), c.Turns)
		}
	}
}

// answer is the model. It finds out from the conversation which answer comes next, so that
// it continues after a crash and in a fork.
func (w *world) answer(r *llmtest.Request, _ int) llmtest.Step {
	name, n := "", 0
	for _, m := range r.Messages {
		if m.Role == llm.Assistant {
			n++
			continue
		}
		for _, b := range m.Content {
			t, ok := b.(llm.Text)
			if !ok {
				continue
			}
			if i := strings.LastIndex(t.Text, prompts); i >= 0 { // prompts in a row are one text
				name, _, _ = strings.Cut(t.Text[i+len(prompts):], "\n")
				n = 0
			}
		}
	}
	w.steps.Add(1)
	w.checkRequest(r)
	w.mu.Lock()
	turns, known := w.scripts[name]
	w.served[name]++
	total := w.served[name]
	failed := w.served[fmt.Sprint(name, " fails ", n)]
	w.mu.Unlock()
	step := llmtest.Step{Text: done}
	w.checkBudget(name)
	switch {
	case strings.Contains(r.Messages[len(r.Messages)-1].Text(), "Stop the work for a moment"):
		step.Text = "<memory>\n- decision: " + name + "\n</memory>\n<summary>\nWork was done.\n</summary>"
	case !known && name != "": // without a name, all prompts are behind the summary of a compaction
		w.wrong("requests", "a request is about the unknown prompt %q", name)
	case known && n < len(turns) && total < 60:
		turn := turns[n]
		if turn.Fail != "" && failed < failures(turn.Fail) {
			w.mu.Lock()
			w.served[fmt.Sprint(name, " fails ", n)]++
			w.mu.Unlock()
			w.meet("model failure")
			step = failure(turn.Fail)
		} else if len(turn.Calls) > 0 {
			step = llmtest.Step{Text: "Working."}
			for j, c := range turn.Calls {
				step.Calls = append(step.Calls, llmtest.Use("", c.Tool, w.input(c, fmt.Sprintf("%s.%d.%d", name, n, j))))
			}
		}
	}
	if r.Thinking.On() {
		step.Thinking = "Thinking about " + name + "."
	}
	step.Delay = w.pause(40*time.Millisecond, "model", name, n, total)
	w.trace("model %s answer %d, request %d", name, n, total)
	return step
}

// failures is how many requests for an answer fail.
func failures(how string) int {
	if how == "down" {
		return 12
	}
	return 1
}

// failure is an answer that fails, and may succeed later.
func failure(how string) llmtest.Step {
	switch how {
	case "cut":
		return llmtest.Step{Text: "This answer breaks off.", CutAfter: 3}
	case "reset":
		return llmtest.Step{CutAfter: -1, Cut: "reset"}
	case "garbage":
		return llmtest.Step{Text: "This answer breaks off.", CutAfter: 3, Cut: "end"}
	}
	return llmtest.Step{Status: 529}
}

// input returns the call's input. Its tag says which call of the script it is.
func (w *world) input(c Call, tag string) any {
	if c.Tool == "Batch" {
		parts := []any{}
		for i, p := range c.Parts {
			parts = append(parts, map[string]any{"tool": p.Tool, "parameters": w.input(p, fmt.Sprintf("%s.%d", tag, i))})
		}
		return map[string]any{"tool_calls": parts}
	}
	if slices.Contains(fileTools, c.Tool) {
		return w.fileInput(c, tag)
	}
	if c.Tool == "Agent" && w.apart.calls != nil {
		return w.agentInput(c, tag)
	}
	if in, ok := w.teamInput(c, tag); ok {
		return in
	}
	switch c.Tool {
	case "Memory":
		return noteInput(c.Target, tag)
	case "Skill":
		return skillInput(c.Target)
	case "EnterPlanMode":
		return map[string]any{}
	case "ExitPlanMode":
		return map[string]any{"plan": "Work on " + tag + "."}
	}
	return work{Target: c.Target, Tag: tag}
}

// checkRequest checks what a request to the model must never hold.
func (w *world) checkRequest(r *llmtest.Request) {
	if strings.Contains(string(r.Body), secret) {
		w.wrong("secrets", "a request to the model holds the secret")
	}
	w.checkMarks("a request to the model", r.Body)
	w.checkRemoteTools(r)
	w.checkNoteText(r)
	seen := map[string]bool{}
	for _, m := range r.Messages {
		for _, u := range m.ToolUses() {
			if seen[u.ID] {
				w.wrong("results", "the model is shown two calls with the id %s", u.ID)
			}
			seen[u.ID] = true
		}
	}
}
