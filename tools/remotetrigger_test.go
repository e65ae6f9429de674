package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/internal/triggerstore"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/trigger"
	"github.com/openagent-go/agent/workspace"
)

func TestRemoteTriggerContract(t *testing.T) {
	tooltest.Check(t, newRemoteTrigger(Triggers{Store: trigger.Memory()}))
}

// publicTriggers returns a store as programs pass it to the tool.
func publicTriggers(s triggerstore.Store) *trigger.Store {
	return (*trigger.Store)(triggerstore.NewHandle(s))
}

// fireTo returns the function that starts runs of a handler.
func fireTo(h *triggerstore.Handler) func(trigger.Trigger, []byte) (string, error) {
	return func(t trigger.Trigger, body []byte) (string, error) {
		return h.Fire(triggerstore.Trigger{ID: t.ID, Name: t.Name, Prompt: t.Prompt}, triggerstore.Payload{Data: body})
	}
}

// theTrigger is the only one in the Details of a result.
func theTrigger(t testing.TB, r *tool.Result) (triggerstore.Trigger, triggerDetails) {
	t.Helper()
	var d triggerDetails
	if err := json.Unmarshal(r.Details, &d); err != nil || len(d.Triggers) != 1 || r.IsError {
		t.Fatalf("%s: %+v, %v", r.Text(), d, err)
	}
	return d.Triggers[0], d
}

// One side makes a trigger and serves it, the other sends to it; no secret is in
// any result.
func TestRemoteTriggerBothSides(t *testing.T) {
	type started struct{ name, data string }
	ran := make(chan started, 10)
	here := &triggerstore.File{Path: filepath.Join(t.TempDir(), "here.json")}
	h := &triggerstore.Handler{Store: here, Run: func(_ context.Context, tr triggerstore.Trigger, p triggerstore.Payload) error {
		ran <- started{tr.Prompt, string(p.Data)}
		return nil
	}}
	defer h.Close()
	server := httptest.NewServer(h)
	defer server.Close()
	there := new(triggerstore.Memory)
	ours := newRemoteTrigger(Triggers{Store: publicTriggers(here), Local: fireTo(h)})
	theirs := newRemoteTrigger(Triggers{Store: publicTriggers(there), Client: &trigger.Client{AllowPrivate: true}})
	var shown []string
	run := func(tl tool.Tool, input string) *tool.Result {
		t.Helper()
		r := tooltest.Run(t, tl, input)
		shown = append(shown, r.Text(), string(r.Details), r.Title)
		return r
	}
	if text := run(ours, `{"action":"list"}`).Text(); text != "There are no triggers." {
		t.Errorf("got %q", text)
	}
	mine, _ := theTrigger(t, run(ours, `{"action":"create","name":"build","prompt":"Build it."}`))
	_, d := theTrigger(t, run(ours, `{"action":"run","name":"build","payload":{"a":1}}`))
	if got := <-ran; got != (started{"Build it.", `{"payload":{"a":1}}`}) || d.Run == "" {
		t.Errorf("%+v, %+v", got, d)
	}
	remote, _ := theTrigger(t, run(theirs, fmt.Sprintf(`{"action":"create","name":"their build","url":%q,"prompt":"please"}`, server.URL+"/triggers/"+mine.ID)))
	if r := run(theirs, fmt.Sprintf(`{"action":"run","id":%q}`, remote.ID)); !r.IsError || !strings.Contains(r.Text(), "401") {
		t.Errorf("before the secret was handed on: %s", r.Text())
	}
	known, err := here.Get(t.Context(), mine.ID)
	if err != nil {
		t.Fatal(err)
	}
	err = there.Update(t.Context(), remote.ID, func(r *triggerstore.Record) (*triggerstore.Record, error) { r.Secrets = known.Secrets; return r, nil })
	if err != nil {
		t.Fatal(err)
	}
	_, d = theTrigger(t, run(theirs, fmt.Sprintf(`{"action":"run","id":%q,"payload":[1]}`, remote.ID)))
	if got := <-ran; got != (started{"Build it.", `{"prompt":"please","payload":[1]}`}) || d.Status != http.StatusAccepted || d.Run == "" {
		t.Errorf("%+v, %+v", got, d)
	}
	if changed, _ := theTrigger(t, run(ours, fmt.Sprintf(`{"action":"update","id":%q,"enabled":false,"name":"new name"}`, mine.ID))); changed.Enabled || changed.Name != "new name" || changed.Prompt != "Build it." {
		t.Errorf("%+v", changed)
	}
	for _, r := range []*tool.Result{run(theirs, `{"action":"run","name":"their build"}`), run(ours, `{"action":"run","name":"new name"}`)} {
		if !r.IsError {
			t.Errorf("a trigger that is off runs: %s", r.Text())
		}
	}
	theTrigger(t, run(ours, fmt.Sprintf(`{"action":"get","id":%q}`, mine.ID)))
	theTrigger(t, run(ours, `{"action":"get","name":"new name"}`))
	if changed, _ := theTrigger(t, run(ours, `{"action":"update","name":"new name","prompt":"Build it again."}`)); changed.ID != mine.ID || changed.Prompt != "Build it again." || changed.Name != "new name" {
		t.Errorf("%+v", changed)
	}
	run(ours, `{"action":"list"}`)
	if len(ran) != 0 {
		t.Error("something more ran")
	}
	for _, s := range shown {
		for _, secret := range known.Secrets {
			if strings.Contains(s, string(secret)) {
				t.Errorf("a secret is in %q", s)
			}
		}
	}
	if now, err := here.Get(t.Context(), mine.ID); err != nil || now.Secrets[0] != known.Secrets[0] {
		t.Errorf("the secret is another after an update: %v", err)
	}
}

func TestRemoteTriggerRefusals(t *testing.T) {
	tl := newRemoteTrigger(Triggers{Store: trigger.Memory()})
	mine, _ := theTrigger(t, tooltest.Run(t, tl, `{"action":"create","name":"a","prompt":"x"}`))
	remote, _ := theTrigger(t, tooltest.Run(t, tl, `{"action":"create","name":"b","url":"http://127.0.0.1:1/triggers/x"}`))
	for input, want := range map[string]string{
		`{"action":"delete"}`:                                                                       `action is "delete"`,
		`{"action":"create","name":"c"}`:                                                            "prompt is missing",
		`{"action":"create","prompt":"x"}`:                                                          "name",
		`{"action":"create","name":"a","prompt":"x"}`:                                               "already",
		`{"action":"create","name":"c","id":"x","prompt":"x"}`:                                      "leave id out",
		`{"action":"create","name":"c","url":"file:///etc/passwd"}`:                                 "https://",
		`{"action":"create","name":"c","url":"http://u:p@x.org/"}`:                                  "password",
		`{"action":"create","name":"c","prompt":"x","schedule":"@"}`:                                "not kept here",
		`{"action":"create","name":"c","prompt":"x","payload":1}`:                                   "action run",
		`{"action":"get"}`:                                                                          "id or name is missing",
		`{"action":"get","id":"none"}`:                                                              "no trigger with the id",
		`{"action":"get","name":"none"}`:                                                            "no trigger called",
		`{"action":"run","id":"none"}`:                                                              "no trigger with the id",
		`{"action":"update","prompt":"x"}`:                                                          "id or name is missing",
		`{"action":"update","name":"none","prompt":"x"}`:                                            "no trigger called",
		`{"action":"update","id":"` + mine.ID + `","url":"https://example.com/"}`:                   "cannot become",
		`{"action":"run","name":"a"}`:                                                               "cannot be run from here",
		`{"action":"run","name":"b"}`:                                                               "loopback",
		`{"action":"create","name":"` + strings.Repeat("n", 101) + `","prompt":"x"}`:                "name",
		`{"action":"create","name":"c","prompt":"` + strings.Repeat("x", 70_000) + `"}`:             "longer",
		`{"action":"run","id":"` + remote.ID + `","payload":"` + strings.Repeat("x", 70_000) + `"}`: "at most",
	} {
		r := tooltest.Run(t, tl, input)
		if !r.IsError || !strings.Contains(r.Text(), want) || len(r.Text()) > 1000 {
			t.Errorf("%.100s: got %q, want an error with %q", input, r.Text(), want)
		}
	}
	for i := range maxTriggers - 2 {
		if r := tooltest.Run(t, tl, fmt.Sprintf(`{"action":"create","name":"n%d","prompt":"x"}`, i)); r.IsError {
			t.Fatal(r.Text())
		}
	}
	if r := tooltest.Run(t, tl, `{"action":"create","name":"more","prompt":"x"}`); !r.IsError {
		t.Error("there is no bound")
	}
}

func TestRemoteTriggerClass(t *testing.T) {
	tl := newRemoteTrigger(Triggers{Store: trigger.Memory()})
	mine, _ := theTrigger(t, tooltest.Run(t, tl, `{"action":"create","name":"mine","prompt":"x"}`))
	remote, _ := theTrigger(t, tooltest.Run(t, tl, `{"action":"create","name":"remote","url":"https://EXAMPLE.com/t"}`))
	for input, want := range map[string]tool.Traits{
		`{"action":"list"}`:                                                     {ReadOnly: true},
		`{"action":"get"}`:                                                      {ReadOnly: true},
		`{"action":"create","name":"x","prompt":"y"}`:                           asked(permission.UseName, "x"),
		`{"action":"update","id":"` + mine.ID + `","prompt":"y"}`:               asked(permission.UseName, "mine"),
		`{"action":"update","id":"` + mine.ID + `","schedule":"@daily"}`:        asked(permission.UseName, "mine"),
		`{"action":"update","id":"` + mine.ID + `","enabled":true}`:             asked(permission.UseName, "mine"),
		`{"action":"update","id":"` + mine.ID + `","enabled":false}`:            named(permission.UseName, "mine"),
		`{"action":"update","id":"` + mine.ID + `","schedule":" "}`:             named(permission.UseName, "mine"),
		`{"action":"update","id":"` + remote.ID + `","schedule":"@daily"}`:      asked(permission.FetchURL, "https://example.com/t"),
		`{"action":"create","name":"x","url":"https://Example.com"}`:            named(permission.FetchURL, "https://example.com/"),
		`{"action":"run","id":"` + mine.ID + `"}`:                               named(permission.UseName, "mine"),
		`{"action":"run","name":"remote"}`:                                      named(permission.FetchURL, "https://example.com/t"),
		`{"action":"run","name":"remote","url":"https://other.org"}`:            named(permission.FetchURL, "https://example.com/t"),
		`{"action":"update","id":"` + mine.ID + `","name":"y"}`:                 named(permission.UseName, "mine"),
		`{"action":"update","id":"` + remote.ID + `","prompt":"y"}`:             named(permission.FetchURL, "https://example.com/t"),
		`{"action":"update","id":"` + remote.ID + `","url":"https://evil.org"}`: named(permission.FetchURL, "https://evil.org/"),
		`{"action":"run","id":"none"}`:                                          {},
	} {
		got := toolrun.Classify(tl, tool.Call{Input: json.RawMessage(input)})
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %+v, want %+v", input, got, want)
		}
	}
}

func named(kind permission.AccessKind, target string) tool.Traits {
	return tool.Traits{Access: []permission.Access{{Kind: kind, Target: target}}}
}

// No tool of the agent shows the secrets of triggers.
func TestRemoteTriggerSecretsElsewhere(t *testing.T) {
	dir := t.TempDir()
	store := &triggerstore.File{Path: filepath.Join(dir, "t.json")}
	tl := newRemoteTrigger(Triggers{Store: publicTriggers(store)})
	mine, _ := theTrigger(t, tooltest.Run(t, tl, `{"action":"create","name":"a","prompt":"x"}`))
	r, err := store.Get(t.Context(), mine.ID)
	if err != nil {
		t.Fatal(err)
	}
	ws := &workspace.Workspace{Root: dir}
	defer ws.Close()
	a := &agent.Agent{Dir: dir, Tools: append(Core(ws), tl)}
	got, err := a.CallTool(t.Context(), "Read", json.RawMessage(`{"file_path":"t.json"}`))
	if err != nil || !strings.Contains(got.Text(), mine.ID) || strings.Contains(got.Text()+string(got.Details), string(r.Secrets[0])) {
		t.Errorf("%v, %v", got, err)
	}
}

// asked is the class of a call that a person has to agree to, each time.
func asked(kind permission.AccessKind, target string) tool.Traits {
	c := named(kind, target)
	c.ConfirmReason, c.Access[0].Once = "it keeps a prompt, which is started later and again", true
	return c
}

// A trigger with a new address gets a new secret, so that no host gets requests signed for
// another.
func TestRemoteTriggerMoves(t *testing.T) {
	store := new(triggerstore.Memory)
	tl := newRemoteTrigger(Triggers{Store: publicTriggers(store)})
	remote, _ := theTrigger(t, tooltest.Run(t, tl, `{"action":"create","name":"b","url":"https://example.com/t"}`))
	secret := func() triggerstore.Secret {
		r, err := store.Get(t.Context(), remote.ID)
		if err != nil || len(r.Secrets) != 1 {
			t.Fatal(r, err)
		}
		return r.Secrets[0]
	}
	old := secret()
	for _, c := range []struct {
		input string
		same  bool
	}{{`"prompt":"x"`, true}, {`"url":"https://EXAMPLE.com:443/t"`, true}, {`"url":"https://evil.org/t"`, false}} {
		before := secret()
		r := tooltest.Run(t, tl, `{"action":"update","id":"`+remote.ID+`",`+c.input+`}`)
		if (secret() == before) != c.same || strings.Contains(r.Text(), "new secret") == c.same {
			t.Errorf("%s: %s", c.input, r.Text())
		}
	}
	if tooltest.Run(t, tl, `{"action":"update","id":"`+remote.ID+`","url":"https://example.com/t"}`); secret() == old {
		t.Error("the old secret is back")
	}
}

// The host hears about schedules, and a schedule that it refuses is not stored.
func TestRemoteTriggerSchedule(t *testing.T) {
	var told []string
	store := new(triggerstore.Memory)
	tl := newRemoteTrigger(Triggers{Store: publicTriggers(store), Schedule: func(ctx context.Context, tr trigger.Trigger) error {
		if _, err := store.List(ctx); err != nil { // it may look
			return err
		}
		if tr.Schedule == "bad" {
			return errors.New("there is no such time")
		}
		told = append(told, fmt.Sprint(tr.Name, " ", tr.Schedule, " ", tr.Enabled))
		return nil
	}})
	if r := tooltest.Run(t, tl, `{"action":"create","name":"a","prompt":"x","schedule":"bad"}`); !r.IsError || !strings.Contains(r.Text(), "no such time") {
		t.Error(r.Text())
	}
	tr, _ := theTrigger(t, tooltest.Run(t, tl, `{"action":"create","name":"a","prompt":"x","schedule":"@hourly"}`))
	theTrigger(t, tooltest.Run(t, tl, `{"action":"update","id":"`+tr.ID+`","enabled":false}`))
	theTrigger(t, tooltest.Run(t, tl, `{"action":"update","id":"`+tr.ID+`","schedule":""}`))
	theTrigger(t, tooltest.Run(t, tl, `{"action":"update","id":"`+tr.ID+`","prompt":"y"}`))
	if got := strings.Join(told, ", "); got != "a @hourly true, a @hourly false, a  false" {
		t.Errorf("told: %s", got)
	}
	if list, _ := store.List(t.Context()); len(list) != 1 {
		t.Errorf("%v", list)
	}
}

// A cancelled call stops sending; the answer of the other side is truncated.
func TestRemoteTriggerSending(t *testing.T) {
	reached := make(chan struct{}, 1)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			_, _ = io.Copy(io.Discard, r.Body) // else the server does not see the client go
			reached <- struct{}{}
			<-r.Context().Done()
			return
		}
		fmt.Fprint(w, strings.Repeat("x", 1<<20))
	}))
	defer s.Close()
	tl := newRemoteTrigger(Triggers{Store: trigger.Memory(), Client: &trigger.Client{AllowPrivate: true}})
	for _, name := range []string{"hang", "long"} {
		theTrigger(t, tooltest.Run(t, tl, fmt.Sprintf(`{"action":"create","name":%q,"url":%q}`, name, s.URL+"/"+name)))
	}
	if r := tooltest.Run(t, tl, `{"action":"run","name":"long"}`); r.IsError || len(r.Text()) > maxReply+500 {
		t.Errorf("%d bytes: %.200s", len(r.Text()), r.Text())
	}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-reached; cancel() }()
	out := toolrun.Run(ctx, tl, tool.Call{ID: "c1.0", Name: "RemoteTrigger", Input: json.RawMessage(`{"action":"run","name":"hang"}`)}, time.Minute)
	if !out.Result.IsError || ctx.Err() == nil {
		t.Errorf("got %s", out.Result.Text())
	}
}

func TestRemoteTriggerTwoAtOnce(t *testing.T) {
	tl := newRemoteTrigger(Triggers{Store: trigger.File(filepath.Join(t.TempDir(), "t.json"))})
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() { tooltest.Run(t, tl, fmt.Sprintf(`{"action":"create","name":"n%d","prompt":"x"}`, i)) })
	}
	wg.Wait()
	var d triggerDetails
	if err := json.Unmarshal(tooltest.Run(t, tl, `{"action":"list"}`).Details, &d); err != nil || len(d.Triggers) != 10 {
		t.Errorf("%d triggers, %v", len(d.Triggers), err)
	}
}
