package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/client"
	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// with returns options for a fake that plays a part.
func with(t *testing.T, name string, o client.Options) client.Options {
	t.Helper()
	if parts[name] == nil {
		t.Fatalf("there is no part %q", name)
	}
	o.Command, o.Env = []string{os.Args[0]}, append(os.Environ(), part+"="+name)
	return o
}

func start(t *testing.T, name string, o client.Options) *client.Session {
	t.Helper()
	s, err := client.Start(t.Context(), with(t, name, o))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// prompt returns the messages of a prompt, and its error.
func prompt(t *testing.T, s *client.Session, text string) (all []client.Message, err error) {
	t.Helper()
	for m, e := range s.Prompt(t.Context(), text) {
		if e != nil {
			return all, e
		}
		all = append(all, m)
	}
	return all, nil
}

func last(t *testing.T, s *client.Session, text string) *client.Result {
	t.Helper()
	all, err := prompt(t, s, text)
	if err != nil {
		t.Fatal(err)
	}
	return all[len(all)-1].Result
}

// Prompts yield their messages, one after the other, and those of unknown types as they are.
func TestPrompts(t *testing.T) {
	t.Parallel()
	s := start(t, "good", client.Options{})
	for _, text := range []string{"one", "two"} {
		all, err := prompt(t, s, text)
		if err != nil || len(all) != 4 {
			t.Fatalf("%v, %v", err, all)
		}
		if m := all[0]; m.Type != "news" || string(m.Raw) != `{"type":"news","of":["the","future"]}` {
			t.Errorf("%+v", m)
		}
		want := client.Init{Dir: "/d", Model: "m", Mode: permission.Plan, Tools: []string{"Bash"}, Servers: []client.Server{{Name: "a", Status: "connected"}}}
		if m := all[1]; m.Init == nil || !reflect.DeepEqual(*m.Init, want) {
			t.Errorf("%+v", m)
		}
		if m := all[2]; m.Text() != "echo "+text || m.ID != "u" {
			t.Errorf("%+v", m)
		}
		if r := all[3].Result; r.Text != "echo "+text || r.Err != nil || *r.CostUSD != 0.5 || r.Usage != (llm.Usage{Input: 3, Output: 2, CacheWriteHour: 1}) ||
			r.Turns != 1 || r.Reason != "completed" || len(r.Denials) != 1 || r.Denials[0].ID != "t" {
			t.Errorf("%+v", r)
		}
	}
	if s.ID() != "s1" {
		t.Error(s.ID())
	}
	r := last(t, s, "image")
	if r = func() *client.Result {
		for m, err := range s.Prompt(t.Context(), "look", llm.Image{MediaType: "image/png", Data: []byte{1}}) {
			if err != nil {
				t.Fatal(err)
			}
			r = m.Result
		}
		return r
	}(); !strings.Contains(r.Text, "image/png") || !strings.Contains(r.Text, "look") {
		t.Error(r.Text)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := prompt(t, s, "late"); err == nil || !strings.Contains(err.Error(), "ended") {
		t.Error(err)
	}
}

// Control requests have their answers, and errors.
func TestControl(t *testing.T) {
	t.Parallel()
	s := start(t, "good", client.Options{})
	ctx := t.Context()
	if err := errors.Join(s.Interrupt(ctx), s.SetMode(ctx, permission.Plan), s.SetModel(ctx, "m"), s.SetModel(ctx, "")); err != nil {
		t.Error(err)
	}
	servers, err := s.MCPStatus(ctx)
	if want := []client.Server{{Name: "a", Status: "failed", Error: "gone", Tools: []string{"t", "u"}}}; err != nil || !reflect.DeepEqual(servers, want) {
		t.Errorf("%v, %+v", err, servers)
	}
	if tokens, window, err := s.ContextUsage(ctx); err != nil || tokens != 10 || window != 200 {
		t.Error(tokens, window, err)
	}
	var echo map[string]any
	if err := s.Control(ctx, "set_model", map[string]any{"model": "x", "subtype": "y"}, &echo); err != nil || echo["model"] != "x" || echo["subtype"] != "set_model" {
		t.Error(err, echo)
	}
	if err := s.Control(ctx, "dance", nil, nil); !errors.Is(err, errors.ErrUnsupported) || !strings.Contains(err.Error(), "dance") {
		t.Error(err)
	}
	if err := s.Control(ctx, "refuse", nil, nil); err == nil || !strings.Contains(err.Error(), "refuse: not now") {
		t.Error(err)
	}
	if err := s.Control(ctx, "mcp_status", nil, new(int)); err == nil || !strings.Contains(err.Error(), "reading the answer") {
		t.Error(err)
	}
	short, cancel := context.WithCancelCause(ctx)
	time.AfterFunc(time.Millisecond, func() { cancel(errors.New("enough")) })
	if err := s.Control(short, "silence", nil, nil); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Error(err)
	}
}

// Options become arguments and members of initialize.
func TestOptions(t *testing.T) {
	t.Parallel()
	o := with(t, "args", client.Options{Args: []string{"--max-turns", "5"}, Model: "m", Mode: permission.Plan, Resume: "id", Fork: true, SystemPrompt: "be brief", Partial: true,
		CanUseTool: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
			return permission.Allow(), nil
		},
		Hooks: []hook.Hook{{On: hook.PreToolUse, Match: "Bash", Timeout: 7 * time.Second, Func: func(context.Context, *hook.Input) (hook.Output, error) { return hook.Output{}, nil }},
			{On: hook.Stop, Func: func(context.Context, *hook.Input) (hook.Output, error) { return hook.Output{}, nil }}},
		Tools: map[string][]tool.Tool{"weather": nil}, Initialize: map[string]any{"title": "t"}})
	s, err := client.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var got struct {
		Args []string       `json:"args"`
		Init map[string]any `json:"init"`
	}
	if err := json.Unmarshal([]byte(last(t, s, "go").Text), &got); err != nil {
		t.Fatal(err)
	}
	want := "--output-format stream-json --verbose --input-format stream-json --model m --permission-mode plan --resume id --fork-session --include-partial-messages --permission-prompt-tool stdio --max-turns 5"
	if strings.Join(got.Args, " ") != want {
		t.Error(got.Args)
	}
	init, _ := json.Marshal(got.Init)
	if want := `{"hooks":{"PreToolUse":[{"hookCallbackIds":["hook_0"],"matcher":"Bash","onFailure":"block","timeout":12}],"Stop":[{"hookCallbackIds":["hook_1"],"timeout":65}]},` +
		`"sdkMcpServers":["weather"],"subtype":"initialize","systemPrompt":["be brief"],"title":"t"}`; string(init) != want {
		t.Errorf("%s", init)
	}
}

// A program that misbehaves ends the session with an error that says what it did.
func TestMisbehaves(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"early":   "the program ended with exit code 3; its error output: no key: set KEY",
		"refuses": "initialize: not now",
	} {
		if s, err := client.Start(t.Context(), with(t, name, client.Options{})); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v", name, s, err)
		}
	}
	for name, want := range map[string]string{
		"crash": "the program ended with exit code 4; its error output: fatal: out of luck",
		"junk":  "line 2 of its output is not a JSON object: Debugger attached.",
		"array": "line 2 of its output is not a JSON object: []",
		"huge":  "a line of more than 64 MB",
		"quiet": "without a request_id",
	} {
		s := start(t, name, client.Options{})
		_, err := prompt(t, s, "go")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		var all error
		for _, err := range s.Messages(t.Context()) {
			all = err
		}
		if all == nil || !strings.Contains(all.Error(), want) {
			t.Errorf("%s: %v", name, all)
		}
		if err := s.Interrupt(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, o := range []client.Options{{Fork: true}, {Command: []string{filepath.Join(t.TempDir(), "none")}}, {Dir: filepath.Join(t.TempDir(), "none")},
		{Hooks: []hook.Hook{{On: "Nonsense"}}}, {Hooks: []hook.Hook{{On: hook.PreToolUse, Match: "(", Func: allow}}}, {Tools: map[string][]tool.Tool{"a__b": nil}}} {
		if s, err := client.Start(t.Context(), o); err == nil {
			t.Errorf("%+v: %v", o, s)
		}
	}
}

func allow(context.Context, *hook.Input) (hook.Output, error) { return hook.Output{}, nil }

// A program that says nothing is ended with the context.
func TestSilence(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	time.AfterFunc(50*time.Millisecond, func() { cancel(errors.New("enough")) })
	if _, err := client.Start(ctx, with(t, "silent", client.Options{})); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Error(err)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	defer cancel(nil)
	s, err := client.Start(ctx, with(t, "slow", client.Options{}))
	if err != nil {
		t.Fatal(err)
	}
	var end error
	for m, err := range s.Prompt(t.Context(), "go") {
		if end = err; m.Text() == "begun 1" {
			cancel(errors.New("enough"))
		}
	}
	if end == nil || end.Error() != "enough" {
		t.Error(end)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// Lines with members of wrong types are messages, or requests that are refused.
func TestTypes(t *testing.T) {
	t.Parallel()
	s := start(t, "types", client.Options{})
	all, err := prompt(t, s, "go")
	if err != nil || len(all) != 15 {
		t.Fatal(err, all)
	}
	for _, m := range all[:7] {
		if m.Init != nil || m.Result != nil || m.Text() != "" {
			t.Errorf("%+v", m)
		}
	}
	if len(all[4].Content) != 2 {
		t.Errorf("%+v", all[4])
	}
	for i, want := range []string{"does not answer", `\"dance\"`, "reading the question", "names no tool", "there is no hook", "there is no MCP server", "reading a message"} {
		if m := all[7+i]; m.Type != "answer" || !strings.Contains(string(m.Raw), `"subtype":"error"`) || !strings.Contains(string(m.Raw), want) {
			t.Errorf("%s", m.Raw)
		}
	}
	if r := all[14].Result; r == nil || r.Err == nil {
		t.Errorf("%+v", r)
	}
	if r := last(t, start(t, "large", client.Options{}), "go"); len(r.Text) != 1<<20 {
		t.Error(len(r.Text))
	}
}

// asked sends the requests of a program, and returns the client's answers.
func asked(t *testing.T, o client.Options, requests ...string) []string {
	t.Helper()
	return strings.Split(last(t, start(t, "asks", o), strings.Join(requests, "\n")).Text, "\n")
}

// Questions for permission reach CanUseTool, and its answers the program.
func TestPermission(t *testing.T) {
	t.Parallel()
	o := client.Options{CanUseTool: func(ctx context.Context, call tool.Call, verdict permission.Decision) (permission.Decision, error) {
		if verdict.Behavior != permission.Asked || verdict.Reason != "why" || verdict.Source != "mode" || call.Name != "Bash" || call.ID != "t" {
			return permission.Decision{}, errors.New("wrong question")
		}
		switch string(call.Input) {
		case `{"c":"allow"}`:
			return permission.Allow(), nil
		case `{"c":"change"}`:
			d := permission.AllowWith(json.RawMessage(`{"c":"ls"}`))
			d.By, d.Expires = "ann", time.Unix(2e9, 0).UTC()
			return d, nil
		case `{"c":"deny"}`:
			return permission.Deny("not that"), nil
		case `{"c":"agent"}`:
			return permission.Deny(call.Session + " " + call.Agent), nil
		case `{"c":"stop"}`:
			return permission.Decision{Behavior: permission.Denied, Reason: "stop", Interrupt: true}, nil
		case `{"c":"panic"}`:
			panic("oops")
		case `{"c":"exit"}`:
			runtime.Goexit()
		case `{"c":"ask"}`:
			return permission.Ask("hm"), nil
		}
		return permission.Decision{}, nil
	}}
	question := func(c, more string) string {
		return fmt.Sprintf(`{"subtype":"can_use_tool","tool_name":"Bash","input":{"c":%q},"tool_use_id":"t","decision_reason":"why","decision_reason_type":"mode"%s}`, c, more)
	}
	got := asked(t, o, question("allow", ""), question("stop", ""), question("change", ""), question("deny", ""), question("agent", `,"agent_id":"a1","agent_name":"explorer"`), question("panic", ""), question("exit", ""),
		question("ask", ""), question("none", ""))
	want := []string{`{"behavior":"allow","toolUseID":"t","updatedInput":{"c":"allow"}}`,
		`{"behavior":"deny","interrupt":true,"message":"stop","toolUseID":"t"}`,
		`{"behavior":"allow","decidedBy":"ann","expiresAt":"2033-05-18T03:33:20Z","toolUseID":"t","updatedInput":{"c":"ls"}}`,
		`{"behavior":"deny","message":"not that","toolUseID":"t"}`, `{"behavior":"deny","message":"a1 explorer","toolUseID":"t"}`,
		"the callback panicked: oops", "the callback called runtime.Goexit instead of returning", `the decision is "ask"; it must be allow, deny or defer`,
		`{"behavior":"deny","message":"refused by the user","toolUseID":"t"}`}
	if !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if got := asked(t, client.Options{}, question("allow", "")); !strings.Contains(got[0], "nobody decides") {
		t.Error(got)
	}
}

// Questions of tools reach AskUser, and else CanUseTool.
func TestAskUser(t *testing.T) {
	t.Parallel()
	question := `{"subtype":"can_use_tool","tool_name":"AskUserQuestion","tool_use_id":"t","input":{"questions":[{"question":"Which?","header":"h","options":[{"label":"Red","description":"d"}],"multiSelect":true},{"question":"Why?"}],"more":1}}`
	var saw []tool.Question
	o := client.Options{AskUser: func(_ context.Context, _ tool.Call, questions []tool.Question) ([]tool.Answer, error) {
		saw = questions
		return []tool.Answer{{Options: []string{"Red", "Blue"}, Text: "both"}, {}}, nil
	}}
	got := asked(t, o, question)
	if want := `"answers":{"Which?":"Red, Blue, both"},"more":1`; !strings.Contains(got[0], want) {
		t.Error(got)
	}
	if want := []tool.Question{{Text: "Which?", Header: "h", Options: []tool.Option{{Label: "Red", Description: "d"}}, Multiple: true}, {Text: "Why?"}}; !reflect.DeepEqual(saw, want) {
		t.Errorf("%+v", saw)
	}
	o.AskUser = func(context.Context, tool.Call, []tool.Question) ([]tool.Answer, error) {
		return nil, errors.New("nobody is there")
	}
	if got := asked(t, o, question); !strings.Contains(got[0], `"behavior":"deny","message":"nobody is there"`) {
		t.Error(got)
	}
	o.AskUser = func(context.Context, tool.Call, []tool.Question) ([]tool.Answer, error) { return nil, nil }
	if got := asked(t, o, question); !strings.Contains(got[0], "0 answers to 2 questions") {
		t.Error(got)
	}
}

// Hooks are called with the program's input. One that guards and fails blocks.
func TestHooks(t *testing.T) {
	t.Parallel()
	o := client.Options{Hooks: []hook.Hook{
		{On: hook.PreToolUse, Match: "Bash", Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
			switch in.Call {
			case "fail":
				return hook.Output{}, errors.New("no idea")
			case "panic":
				panic("oops")
			}
			return hook.Output{Permission: permission.Denied, Reason: fmt.Sprint(in.Tool, " ", string(in.Input), " ", in.Session)}, nil
		}},
		{On: hook.PostToolUse, Func: func(_ context.Context, in *hook.Input) (hook.Output, error) {
			if in.Result.IsError {
				return hook.Output{}, errors.New("no idea")
			}
			return hook.Output{Context: in.Result.Text() + string(in.Result.Details)}, nil
		}},
		{On: hook.PreToolUse, Timeout: 10 * time.Millisecond, Func: func(ctx context.Context, _ *hook.Input) (hook.Output, error) { select {} }},
	}}
	call := func(id int, input string) string {
		return fmt.Sprintf(`{"subtype":"hook_callback","callback_id":"hook_%d","input":%s}`, id, input)
	}
	got := asked(t, o, call(0, `{"hook_event_name":"PreToolUse","session_id":"s","tool_name":"Bash","tool_input":{"command":"ls"},"tool_use_id":"t"}`),
		call(0, `{"tool_name":"Bash","tool_use_id":"fail"}`), call(0, `{"tool_name":"Bash","tool_use_id":"panic"}`), call(0, `{"tool_name":7}`),
		call(1, `{"tool_name":"Bash","tool_response":{"stdout":"hi"}}`), call(1, `{"tool_name":7}`), call(2, `{"tool_name":"Bash"}`), call(3, `{}`))
	for i, want := range []string{`"permissionDecision":"deny","permissionDecisionReason":"Bash {\"command\":\"ls\"} s"`, `"permissionDecision":"deny","permissionDecisionReason":"`, `"permissionDecision":"deny"`,
		`"permissionDecision":"deny","permissionDecisionReason":"a hook failed: reading the input`, `"additionalContext":"{\"stdout\":\"hi\"}{\"stdout\":\"hi\"}"`, "reading the input of a hook", `"permissionDecision":"deny"`, "there is no hook"} {
		if !strings.Contains(got[i], want) {
			t.Errorf("%d: %s", i, got[i])
		}
	}
}

// Tools of this process are an MCP server to the program.
func TestTools(t *testing.T) {
	t.Parallel()
	type place struct {
		City string `json:"city"`
	}
	weather := tool.Func(tool.Spec{Name: "weather", Description: "tells the weather", ReadOnly: true}, func(_ context.Context, in place) (string, error) { return "rain in " + in.City, nil })
	o := client.Options{Tools: map[string][]tool.Tool{"sky": {weather}}}
	message := func(m string) string { return `{"subtype":"mcp_message","server_name":"sky","message":` + m + `}` }
	got := asked(t, o, message(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"p","version":"1"}}}`),
		message(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), message(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`),
		message(`{"jsonrpc":"2.0","id":"three","method":"tools/call","params":{"name":"weather","arguments":{"city":"Rome"}}}`), message(`{"jsonrpc":"2.0","id":4,"method":"nonsense"}`))
	for i, want := range []string{`"serverInfo":{"name":"sky"`, `{"mcp_response":{"id":0,"jsonrpc":"2.0","result":{}}}`, `"name":"weather"`, `rain in Rome`, `"error"`} {
		if !strings.Contains(got[i], want) {
			t.Errorf("%d: %s", i, got[i])
		}
	}
}

// A question that the program withdraws ends its callback.
func TestWithdraws(t *testing.T) {
	t.Parallel()
	ended := make(chan error, 1)
	s := start(t, "withdraws", client.Options{CanUseTool: func(ctx context.Context, _ tool.Call, _ permission.Decision) (permission.Decision, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return permission.Allow(), nil
	}})
	if r := last(t, s, "go"); r.Text != "withdrawn" {
		t.Errorf("%+v", r)
	}
	if err := <-ended; err == nil {
		t.Error("it has not ended")
	}
}

// A loop that is left interrupts its run. The next prompt sees only its own messages.
func TestLeftLoop(t *testing.T) {
	t.Parallel()
	s := start(t, "slow", client.Options{})
	for m, err := range s.Prompt(t.Context(), "one") {
		if err != nil || m.Text() != "begun 1" {
			t.Fatal(m, err)
		}
		if _, err := prompt(t, s, "inside"); err == nil || !strings.Contains(err.Error(), "another loop") {
			t.Error(err)
		}
		break
	}
	all, err := prompt(t, s, "two")
	if err != nil || len(all) != 2 || all[0].Text() != "begun 2" || all[1].Result.Text != "end 2" {
		t.Error(err, all)
	}
}

// Results of background work end no prompt.
func TestBackground(t *testing.T) {
	t.Parallel()
	s := start(t, "background", client.Options{})
	if r := last(t, s, "go"); r.Text != "mine " {
		t.Errorf("%+v", r)
	}
	if err := s.Send("more"); err != nil {
		t.Fatal(err)
	}
	for m, err := range s.Messages(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		if m.Result != nil && m.Result.Text == "mine next" {
			break
		}
	}
}

// Options that contradict each other are refused before anything starts.
func TestContradiction(t *testing.T) {
	_, err := client.Start(t.Context(), client.Options{Command: []string{"/does/not/exist"},
		CanUseTool: func(context.Context, tool.Call, permission.Decision) (permission.Decision, error) {
			return permission.Allow(), nil
		},
		Permit: func(context.Context, tool.Call, permission.Decision, []hook.Update) (permission.Decision, []hook.Update, error) {
			return permission.Allow(), nil, nil
		}})
	if err == nil || !strings.Contains(err.Error(), "set one of them") {
		t.Error(err)
	}
}
