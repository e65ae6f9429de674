package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

// inbox reads the mail of an agent.
func (o *office) inbox(agent string) string {
	o.Helper()
	var lines []string
	err := o.store.Take(o.Context(), "s", agent, func(messages []teamstore.Message) error {
		for _, m := range messages {
			lines = append(lines, m.From+": "+m.Content+" ("+string(m.Type)+")")
		}
		return nil
	})
	if err != nil {
		o.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

func TestTeamTools(t *testing.T) {
	o := newOffice(t)
	o.says("SendMessage", `{"to":"ann","message":"hi"}`, `!there is no such team: "main" is in no team`)
	r := o.says("TeamCreate", `{"name":"red","members":["self","ann","bob","main"],"task_description":"win"}`, `^Team created: team_1 "red" with 2 members, led by main: ann, bob$`)
	var d struct{ Team teamstore.Team }
	if err := json.Unmarshal(r.Details, &d); err != nil || d.Team.Leader() != "main" || d.Team.Task != "win" {
		t.Errorf("details %s, %v", r.Details, err)
	}
	o.says("TeamCreate", `{"name":"blue"}`, `!"main" is in team_1 \(red\)`)
	o.saysTo("eve", "TeamCreate", `{"name":"blue","members":["ann"]}`, `!"ann" is in team_1`)
	o.saysTo("eve", "TeamCreate", `{"name":"red"}`, `!name is taken`)
	o.saysTo("eve", "TeamCreate", `{"name":"solo"}`, `with 0 members, led by eve$`)

	o.says("SendMessage", `{"to":"ann","message":"hi"}`, `^Message sent to ann\.$`)
	o.says("SendMessage", `{"to":"*","message":"all"}`, `^Message sent to ann, bob\.$`)
	o.saysTo("ann", "SendMessage", `{"to":"main","message":"ok","type":"shutdown_response"}`, `^Message sent to main\.$`)
	o.says("SendMessage", `{"to":"anne","message":"hi"}`, `!"anne" cannot be reached; in the team red you can reach ann, bob`)
	o.says("SendMessage", `{"to":"eve","message":"hi"}`, `!cannot be reached`)
	o.says("SendMessage", `{"to":"ann","message":""}`, `!it is empty`)
	o.says("SendMessage", `{"to":"ann","message":"x","type":"y"}`, `!unknown type of message "y"`)
	o.says("SendMessage", `{"to":"ann","message":"`+strings.Repeat("x", teamstore.MaxMessage+1)+`"}`, `!put it into a file`)
	o.saysTo("eve", "SendMessage", `{"to":"*","message":"hi"}`, `nobody else in your team`)
	if got := o.inbox("ann"); got != "main: hi (text)\nmain: all (text)" {
		t.Errorf("ann got %q", got)
	}
	if got := o.inbox("main"); got != "ann: ok (shutdown_response)" {
		t.Errorf("main got %q", got)
	}

	o.saysTo("ann", "TeamDelete", `{"id":"team_1"}`, `!led by main`)
	o.says("TeamDelete", `{"id":"team_9"}`, `!there is no such team: "team_9"; active are team_1 \(red\), team_2 \(solo\)`)
	o.says("TeamDelete", `{"id":"red"}`, `^Team disbanded: red`)
	o.says("TeamDelete", `{"id":"team_1"}`, `!the team is disbanded: team_1`)
	o.says("SendMessage", `{"to":"ann","message":"hi"}`, `!no such team`)
	if got := o.inbox("bob"); got != "main: all (text)" {
		t.Errorf("bob got %q", got)
	}
	if err := o.tools["TeamCreate"].(sessionStore).EndSession("s"); err != nil {
		t.Error(err)
	}
	o.saysTo("eve", "TeamDelete", `{"id":"solo"}`, `!there are no active teams`)
}

// A message that goes to some is reported with those it did not reach.
func TestSendMessagePartly(t *testing.T) {
	o := newOffice(t)
	o.says("TeamCreate", `{"name":"red","members":["ann","bob"]}`, `team_1`)
	if err := o.store.Register(t.Context(), "s", teamstore.Agent{Name: "bob"}); err != nil {
		t.Fatal(err)
	}
	if err := o.store.Unregister(t.Context(), "s", "bob"); err != nil {
		t.Fatal(err)
	}
	o.says("SendMessage", `{"to":"*","message":"hi"}`, `^Message sent to ann\.\nNot delivered: "bob" cannot be reached: it has ended`)
	o.says("SendMessage", `{"to":"bob","message":"hi"}`, `!it has ended`)
}

// A call that is repeated after a crash delivers once.
func TestSendMessageOnce(t *testing.T) {
	o := newOffice(t)
	o.says("TeamCreate", `{"name":"red","members":["ann"]}`, `team_1`)
	call := tool.Call{ID: "c7.0", Session: "s", Input: json.RawMessage(`{"to":"ann","message":"hi"}`)}
	for range 2 {
		if r := tooltest.RunCall(t, o.tools["SendMessage"], call); r.IsError {
			t.Fatal(r.Text())
		}
	}
	if got := o.inbox("ann"); got != "main: hi (text)" {
		t.Errorf("ann got %q", got)
	}
}
