package export_test

import (
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
	"github.com/openagent-go/agent/internal/policies"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session/export"
)

// Every format says who decided about a call, until when, and that it was asked again.
func TestDecisions(t *testing.T) {
	until := time.Unix(2e9, 0).UTC()
	// A decision that was deferred is about the call of an answer before the end of the run.
	late := stored(t, said("1", fact.AsPrompt, "go"), answer(llm.ToolUse{ID: "a", Name: "pay", Input: []byte(`{}`)}),
		factOf(event.RunEnd{Reason: event.Suspended}), factOf(fact.Answered{Call: "c2.0", Decision: permission.Decision{Behavior: permission.Allowed, By: "ann"}}),
		factOf(event.Resumed{}), result("c2.0", "paid", ""), factOf(event.RunEnd{Reason: event.Completed}))
	var b strings.Builder
	if err := export.Markdown(t.Context(), &b, late, "s", export.Options{}); err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, want := range []string{"Allowed by ann", "paid", "suspended", "completed"} {
		i := strings.Index(b.String(), want)
		if i < at {
			t.Errorf("%s is not there, or not in its place:\n%s", want, b.String())
		}
		at = i
	}
	store := stored(t, said("1", fact.AsPrompt, "go"), answer(llm.ToolUse{ID: "a", Name: "pay", Input: []byte(`{}`)}, llm.ToolUse{ID: "b", Name: "look", Input: []byte(`{}`)}),
		factOf(fact.Authorized{Call: "c2.0", Decision: permission.Decision{Behavior: permission.Asked, Source: policies.FromMode}}),
		factOf(fact.Authorized{Call: "c2.1", Decision: permission.Decision{Behavior: permission.Allowed, Source: policies.FromHook, By: "guard"}}),
		factOf(fact.Answered{Call: "c2.0", Decision: permission.Decision{Behavior: permission.Allowed, Source: policies.FromPerson, By: "ann\x1b[31m <u>", Expires: until}}),
		factOf(fact.Answered{Call: "c2.0", Decision: permission.Decision{Behavior: permission.Denied, Source: policies.FromPerson, Reason: "too late"}}),
		result("c2.0", "Permission denied", ""))
	for name, write := range formats {
		var b strings.Builder
		if err := write(t.Context(), &b, store, "s", export.Options{}); err != nil {
			t.Fatal(err)
		}
		wants := []string{"Allowed by ann ", "until 2033-05-18 03:33:20 UTC", "Denied by a person, ", "Allowed by guard, "}
		if name == "JSON" {
			wants = []string{`"by":"ann `, `"expires":"2033-05-18T03:33:20Z"`, `"reason":"too late"`, `"by":"guard"`}
		}
		for _, want := range wants {
			if !strings.Contains(b.String(), want) {
				t.Errorf("%s lacks %q:\n%s", name, want, b.String())
			}
		}
		if strings.Contains(b.String(), "<u>") && name != "JSON" || strings.Contains(b.String(), "\x1b") {
			t.Errorf("%s shows a name as it is", name)
		}
	}
}
