package claudecode

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/tool"
)

// Results have the members that readers of Claude Code expect, for every result of a tool.
func TestToolResult(t *testing.T) {
	for _, c := range []struct {
		name, input, details, text string
		failed                     bool
		want                       string
	}{
		{"Read", `{}`, `{"filePath":"/a","startLine":3,"numLines":2}`, "     3→one\n     4→two\n\n[more]\n", false,
			`{"type":"text","file":{"filePath":"/a","content":"one\ntwo","numLines":2,"startLine":3,"totalLines":4}}`},
		{"Read", `{}`, ``, "a\n", false, `[{"type":"text","text":"a\n"}]`},
		{"Bash", `{}`, `{"exitCode":0}`, "hi", false, `{"interrupted":false,"isImage":false,"noOutputExpected":false,"stderr":"","stdout":"hi"}`},
		{"Bash", `{}`, `{"exitCode":1}`, "no", true, `"Error: no"`},
		{"Bash", `{}`, `{"background":true,"shellId":"b1"}`, "on", false, `{"backgroundTaskId":"b1","interrupted":false,"isImage":false,"noOutputExpected":false,"stderr":"","stdout":"on"}`},
		{"Edit", `{"old_string":"a","new_string":"b"}`, `{"filePath":"/f","diff":"--- /f\n+++ /f\n@@ -1 +1,2 @@\n-a\n+b\n+c\n"}`, "", false,
			`{"filePath":"/f","newString":"b","oldString":"a","originalFile":null,"replaceAll":false,"structuredPatch":[{"oldStart":1,"oldLines":1,"newStart":1,"newLines":2,"lines":["-a","+b","+c"]}],"userModified":false}`},
		{"Bash", `{}`, `{"exitCode":0}`, "(no output)", false, `{"interrupted":false,"isImage":false,"noOutputExpected":true,"stderr":"","stdout":""}`},
		{"mcp__a__b", `{}`, ``, "x", false, `[{"type":"text","text":"x"}]`},
		{"Other", `{}`, `{"n":1}`, "x", false, `{"n":1}`},
		{"Other", `{}`, ``, "x", false, `"x"`},
		{"Agent", `{"prompt":"p","description":"d"}`, `{"agentId":"i","status":"running"}`, "", false,
			`{"agentId":"i","description":"d","isAsync":true,"outputFile":"","prompt":"p","status":"async_launched"}`},
	} {
		r := tool.Text(c.text)
		r.IsError = c.failed
		if c.details != "" {
			r.Details = json.RawMessage(c.details)
		}
		if got := string(ToolResult(c.name, json.RawMessage(c.input), r, nil)); got != c.want {
			t.Errorf("%s %s:\n%s, want\n%s", c.name, c.details, got, c.want)
		}
	}
}

func FuzzToolResult(f *testing.F) {
	f.Add("Edit", `{"old_string":1}`, `{"diff":"@@ -1,x +2 @@\n@@ -"}`, "@@")
	f.Add("Read", `[]`, `{"numLines":9223372036854775807}`, "→→\n")
	f.Fuzz(func(t *testing.T, name, input, details, text string) {
		r := tool.Text(text)
		if json.Valid([]byte(details)) {
			r.Details = json.RawMessage(details)
		}
		if out := ToolResult(name, json.RawMessage(input), r, func(string) (string, bool) { return text, true }); !json.Valid(out) {
			t.Fatalf("%s is not JSON", out)
		}
	})
}

// Every end has a result that hosts know.
func TestEnds(t *testing.T) {
	known := "success error_during_execution error_max_turns error_max_budget_usd error_max_structured_output_retries"
	for r := range ends {
		if e := EndOf(r); !strings.Contains(known, e.Subtype) || e.Reason == "" || e.Subtype != success && !e.IsError {
			t.Errorf("%s: %+v", r, e)
		}
	}
	if e := EndOf(event.EndReason("new")); !e.IsError || e.Subtype != errorDuring {
		t.Errorf("%+v", e)
	}
}

func TestContextOf(t *testing.T) {
	c := ContextOf(1000, 300, 600, map[string]int{"system": 100, "messages": 200}, "m")
	if c.Percentage != 30 || len(c.Categories) != 4 || c.Categories[0].ID != "system_prompt" || c.Categories[2].Tokens != 100 || c.Categories[3].Tokens != 600 {
		t.Errorf("%+v", c)
	}
	if c := ContextOf(0, 0, 0, nil, ""); c.Percentage != 0 || len(c.Categories) != 1 {
		t.Errorf("%+v", c)
	}
}

func TestOriginalFile(t *testing.T) {
	for _, c := range []struct{ before, now, diff string }{
		{"a\nb\nc\n", "a\nX\nY\nc\n", "@@ -1,3 +1,4 @@\n a\n-b\n+X\n+Y\n c\n"},
		{"a\nb", "a", "@@ -1,2 +1 @@\n-a\n-b\n\\ No newline at end of file\n+a\n\\ No newline at end of file\n"},
		{"a\n", "", "@@ -1 +0,0 @@\n-a\n"},
		{"", "a\n", "@@ -0,0 +1 @@\n+a\n"},
		{"1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n5\n6\n7\n8\n9\nten\n", "@@ -3,3 +3,2 @@\n 3\n-4\n 5\n@@ -8,2 +7,3 @@\n 8\n 9\n+ten\n"},
	} {
		got, ok := original(c.now, hunks(c.diff))
		if !ok || got != c.before {
			t.Errorf("%q: %q %v, want %q", c.diff, got, ok, c.before)
		}
		if got, ok := original(c.now+"else\n", hunks(c.diff)); ok && got == c.before {
			t.Errorf("%q: another file has the same original", c.diff)
		}
	}
	for _, diff := range []string{"@@ -1 +1 @@\n-a\n+z\n", "@@ -9 +9 @@\n-a\n+b\n", "@@ -1 +2 @@\n+a\n@@ -1 +1 @@\n+a\n"} {
		if got, ok := original("a\n", hunks(diff)); ok {
			t.Errorf("%q fits: %q", diff, got)
		}
	}
	details := json.RawMessage(`{"filePath":"/f","diff":"@@ -1 +1 @@\n-a\n+b\n"}`)
	r := tool.Text("done")
	r.Details = details
	if got := string(ToolResult("Write", json.RawMessage(`{"content":"b\n"}`), r, func(path string) (string, bool) { return "b\n", path == "/f" })); !strings.Contains(got, `"originalFile":"a\n"`) {
		t.Error(got)
	}
}
