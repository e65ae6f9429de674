package agent_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/engine"
	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/anthropic"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/llm/openai"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

var update = flag.Bool("update", false, "record histories that are missing in testdata/golden, and write what they all come to")

// histories are the sessions that are recorded in testdata/golden. A recording
// is never made again: it stands for the journals that users have. Of a session
// whose recording is to change, the file has to be deleted first.
var histories = map[string]func(t *testing.T, a *agent.Agent){
	"tools": func(t *testing.T, a *agent.Agent) {
		a.Model = byTurn(t, llmtest.Step{Thinking: "hm", Text: "Look.", Calls: []llm.ToolUse{llmtest.Use("a", "double", number{2}), llmtest.Use("b", "write", number{1}), llmtest.Use("c", "double", number{3})}},
			llmtest.Call(llmtest.Use("a", "nope", number{1}), llmtest.Use("b", "write", map[string]string{"n": "x"})), say("Done."))
		play(t, a, "go", "and more")
	},
	"retry": func(t *testing.T, a *agent.Agent) {
		m := llmtest.Script(llmtest.Step{Text: "half of an answer", CutAfter: 3}, llmtest.Fail(&llm.APIError{Class: llm.RateLimit, Status: 429, RetryAfter: 9 * time.Second}),
			uses("double"), llmtest.Fail(&llm.APIError{Class: llm.Overloaded, Status: 529, RetryAfter: -1}), llmtest.Fail(&llm.APIError{Class: llm.Auth, Status: 401, RetryAfter: -1}))
		spare := &llmtest.Model{ID: "spare", Rule: func(*llmtest.Request, int) llmtest.Step { return say("from the spare") }, Facts: llm.Info{Price: &llm.Price{Input: 1, Output: 2}}}
		a.Model, a.Fallbacks = m, []llm.Model{spare}
		play(t, a, "go")
	},
	"interrupt": func(t *testing.T, a *agent.Agent) {
		a.Model = byTurn(t, uses("double", "hang", "write"), say("Here again."))
		s := a.Session("golden")
		defer s.Close()
		go func() {
			synctest.Wait()
			s.Steer(t.Context(), agent.Input{ID: "steer", Text: "look"})
			s.SetMode(t.Context(), permission.Plan)
			s.Interrupt(t.Context())
		}()
		if _, err := s.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrInterrupted) {
			t.Fatal(err)
		}
		if _, err := s.Prompt(t.Context(), "again"); err != nil {
			t.Fatal(err)
		}
	},
	"asked": func(t *testing.T, a *agent.Agent) {
		a.Model, a.Permissions = byTurn(t, uses("write", "write"), uses("write"), say("Done.")), permission.Policy{}
		n := 0
		a.CanUseTool = func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
			n++
			return []permission.Decision{permission.Deny("not now"), permission.AllowWith(json.RawMessage(`{"n":7}`)), permission.Defer(), permission.Allow()}[n-1], nil
		}
		s := a.Session("golden")
		defer s.Close()
		if _, err := s.Prompt(t.Context(), "go"); !errors.Is(err, agent.ErrSuspended) {
			t.Fatal(err)
		}
		for _, err := range s.Resume(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
	},
	"continued": func(t *testing.T, a *agent.Agent) {
		a.Model = llmtest.Script(llmtest.Step{Text: "The first ", Stop: llm.MaxTokens}, llmtest.Step{Text: "and the second part.", Calls: []llm.ToolUse{llmtest.Use("a", "count", number{1})}},
			llmtest.Call(llmtest.Use("b", "count", number{2})), say("End."))
		a.Hooks = []hook.Hook{{On: hook.PostToolUse, Func: func(context.Context, *hook.Input) (hook.Output, error) { return hook.Output{}, nil }}}
		a.System, a.Budget.Turns = "Be brief.", 10
		play(t, a, "go")
	},
	"crash": func(t *testing.T, a *agent.Agent) {
		a.Model = byTurn(t, llmtest.Call(llmtest.Use("a", "double", number{2}), llmtest.Use("b", "write", number{1}), llmtest.Use("c", "write", number{2})), say("Done."))
		whole := *a
		whole.Sessions = session.Memory()
		play(t, &whole, "go")
		facts := history(t, whole.Sessions, "golden")
		starts := 0
		for i, e := range facts {
			if _, ok := e.Data.(event.ToolStart); ok {
				if starts++; starts == 2 { // the write runs, and the program dies
					facts = facts[:i+1]
					break
				}
			}
		}
		log, err := a.Sessions.Open(t.Context(), "golden", session.Header{Session: "golden"})
		if err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(log.Append(t.Context(), 0, true, facts...), log.Close()); err != nil {
			t.Fatal(err)
		}
		s := a.Session("golden")
		defer s.Close()
		for _, err := range s.Resume(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
		}
	},
}

// play prompts, whatever comes of it.
func play(t *testing.T, a *agent.Agent, prompts ...string) {
	s := a.Session("golden")
	defer s.Close()
	for _, p := range prompts {
		if res, err := s.Prompt(t.Context(), p); res == nil {
			t.Fatal(err)
		}
	}
}

// record plays a history in virtual time and writes it down.
func record(t *testing.T, file string, history func(*testing.T, *agent.Agent)) {
	synctest.Test(t, func(t *testing.T) {
		count := tool.New(tool.Spec{Name: "count", State: "counts", ReadOnly: true}, func(_ context.Context, _ tool.Call, in number) (*tool.Result, error) {
			r := tool.Text("counted")
			r.Patch.State = json.RawMessage(fmt.Sprintf(`{"n%d":true}`, in.N))
			return r, nil
		})
		hang := tool.New(tool.Spec{Name: "hang", ReadOnly: true}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		})
		a := &agent.Agent{Dir: "/", Sessions: session.Memory(), Permissions: bypass, Tools: []tool.Tool{double, count, hang,
			write(func(context.Context, tool.Call, int) (*tool.Result, error) { return tool.Text("written"), nil })}}
		history(t, a)
		var out bytes.Buffer
		for e, err := range a.Sessions.Read(t.Context(), "golden", 0) {
			if err != nil {
				t.Fatal(err)
			}
			line, err := json.Marshal(e)
			if err != nil {
				t.Fatal(err)
			}
			out.Write(append(line, '\n'))
		}
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	})
}

// TestGolden is E3 of the fault matrix. Histories recorded by earlier code lead to the same
// effects and the same requests, byte for byte.
func TestGolden(t *testing.T) {
	for name, history := range histories {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join("testdata", "golden", name+".jsonl")
			if _, err := os.Stat(file); *update && errors.Is(err, os.ErrNotExist) {
				record(t, file, history)
			}
			got := replay(t, file)
			golden := filepath.Join("testdata", "golden", name+".txt")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			wants := strings.SplitAfter(string(want), "\n")
			for i, line := range strings.SplitAfter(got, "\n") {
				if i >= len(wants) || line != wants[i] {
					t.Fatalf("%s:%d: the recorded history comes to\n%s(-update accepts it, but runs of users that are under way will go on differently)", golden, i+1, line)
				}
			}
			if strings.Count(got, "\n") != strings.Count(string(want), "\n") {
				t.Errorf("%s has more lines", golden)
			}
		})
	}
}

// replay returns what is wanted after each fact of a recording, and what the
// requests are.
func replay(t *testing.T, file string) string {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var (
		out        strings.Builder
		state      engine.State
		transcript engine.Transcript
		shown      int
	)
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		e := decoded(t, lines.Bytes())
		counted := state.Apply(e)
		if counted {
			transcript.Apply(e)
		}
		fmt.Fprintf(&out, "%d %s counted=%t\n", e.Seq, event.Type(e.Data), counted)
		for _, eff := range state.Effects() {
			if r, ok := eff.(engine.Record); ok {
				for _, fact := range r.Facts {
					fmt.Fprintf(&out, "  record %s\n", event.Type(fact))
				}
				continue
			}
			fmt.Fprintf(&out, "  %s\n", eff.Key())
			if call, ok := eff.(engine.CallModel); ok {
				shown = request(t, &out, call, &state, &transcript, shown)
			}
		}
	}
	return out.String()
}

// request writes the messages that are new, and what the clients make of all.
func request(t *testing.T, out io.Writer, call engine.CallModel, state *engine.State, transcript *engine.Transcript, shown int) int {
	for _, m := range transcript.Messages[shown:] {
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(out, "    %s\n", data)
	}
	c := state.Config()
	req := &llm.Request{System: transcript.System, Messages: transcript.Messages, Tools: transcript.Tools, MaxTokens: call.MaxTokens,
		Temperature: c.Temperature, ToolChoice: c.ToolChoice, Stop: c.Stop, Thinking: c.Thinking}
	var sent sniffer
	client := &http.Client{Transport: &sent}
	for _, m := range []llm.Model{(&anthropic.Client{APIKey: "k", HTTP: client}).Model("claude-sonnet-4-6"), (&openai.Client{APIKey: "k", HTTP: client}).Model("gpt-4.1")} {
		if _, err := llm.Collect(t.Context(), m, req); err == nil || sent.body == nil {
			t.Fatalf("nothing was sent: %v", err)
		}
		broken := strictapi.CheckAnthropic(sent.body)
		if m.Name() == "gpt-4.1" {
			broken = strictapi.CheckOpenAI(sent.body)
		}
		if len(broken) > 0 {
			t.Errorf("a request breaks %v", broken)
		}
		fmt.Fprintf(out, "    %s %d bytes %x\n", m.Name(), len(sent.body), sha256.Sum256(sent.body))
	}
	return len(transcript.Messages)
}

// sniffer keeps the body of the last request and answers none.
type sniffer struct{ body []byte }

func (s *sniffer) RoundTrip(r *http.Request) (*http.Response, error) {
	var err error
	s.body, err = io.ReadAll(r.Body)
	return nil, errors.Join(err, errors.New("nobody is there"))
}

// decoded reads a recorded fact and checks that nothing in it is lost on the
// way back to JSON.
func decoded(t *testing.T, line []byte) event.Event {
	t.Helper()
	var e event.Event
	if err := json.Unmarshal(line, &e); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	var before, after any
	if err := errors.Join(json.Unmarshal(line, &before), json.Unmarshal(data, &after)); err != nil {
		t.Fatal(err)
	}
	if !contains(after, before) {
		t.Errorf("the fact\n%s is read as\n%s", line, data)
	}
	return e
}

// contains reports whether all that is in part is in whole.
func contains(whole, part any) bool {
	switch p := part.(type) {
	case map[string]any:
		w, ok := whole.(map[string]any)
		for k, v := range p {
			ok = ok && contains(w[k], v)
		}
		return ok
	case []any:
		w, ok := whole.([]any)
		return ok && slices.EqualFunc(w, p, contains)
	}
	return whole == part
}
