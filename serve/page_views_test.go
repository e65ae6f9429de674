package serve

import (
	"bytes"
	"context"
	"errors"
	"html/template"
	"iter"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/checkpoint"
	"github.com/openagent-go/agent/internal/sessionhtml"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
)

// workSite is a site whose session "chat" has made two changes of a file, each in a prompt of its own,
// and has checkpoints of it.
func workSite(t *testing.T) (s *site, file string) {
	t.Helper()
	dir := t.TempDir()
	file = filepath.Join(dir, "a.txt")
	kept := &checkpoint.Store{Dir: filepath.Join(t.TempDir(), "kept")}
	write := tool.New(tool.Spec{Name: "write", Description: "Writes."}, func(_ context.Context, _ tool.Call, in struct {
		File string `json:"file_path"`
		Text string `json:"text"`
	}) (*tool.Result, error) {
		return &tool.Result{Content: tool.Text("written").Content, Details: []byte(`{"diff":"@@ -1 +1 @@\n-old\n+` + in.Text + `\n"}`)}, os.WriteFile(in.File, []byte(in.Text+"\n"), 0o600)
	})
	helper := &agent.Agent{Name: "helper", Model: llmtest.Script(llmtest.Say("helped"))}
	use := func(text string) llmtest.Step {
		return llmtest.Call(llmtest.Use("", "write", map[string]string{"file_path": file, "text": text}))
	}
	s = newSite(t, agent.Agent{Dir: dir, Permissions: permission.Policy{Mode: permission.Bypass}, Tools: []tool.Tool{write, delegateTool(helper)},
		Checkpoint: func(ctx context.Context, at agent.CheckpointPlace) (string, error) {
			return kept.Take(ctx, at.Session, at.Prompt, at.Roots...)
		},
		Model: llmtest.Script(use("one"), llmtest.Say("done"), use("two"), llmtest.Call(llmtest.Use("", "delegate", struct{}{})), llmtest.Say("done again"))},
		func(s *Server) {
			s.Restore = func(ctx context.Context, at Place, id string, saved func(string) error) ([]checkpoint.Change, error) {
				changes, err := kept.Changes(ctx, at.ID, "", id)
				if err == nil && saved != nil {
					_, err = kept.Restore(ctx, at.ID, id, saved)
				}
				return changes, err
			}
			s.Checks = func(context.Context) iter.Seq2[string, error] {
				return func(yield func(string, error) bool) {
					_ = yield("git: /usr/bin/git", nil) && yield("key", errors.New("set "+hostile))
				}
			}
		})
	s.do("POST", "/v1/sessions", `{"session":"chat","text":"first"}`, 201, nil)
	r := s.open("chat", 0)
	defer r.close()
	r.until(t, isType("run_end"))
	s.do("POST", "/v1/sessions/chat/messages", `{"text":"second `+strings.ReplaceAll(strings.ReplaceAll(hostile, `"`, `\"`), "\u202e", "")+`"}`, 202, nil)
	r.until(t, isType("run_end"))
	return s, file
}

// The pages beside the conversation show what the facts tell. None of them brings along what others
// wrote.
func TestViews(t *testing.T) {
	s, _ := workSite(t)
	for path, wants := range map[string][]string{
		"/":                            {"first", "idle", "messages", `name="model"`, "all folders"},
		"/?state=running":              {"no such sessions"},
		"/?q=first&state=idle":         {"first"},
		"/s/chat/timeline":             {`<rect class="model"`, `<rect class="tool"`, "helper", `href="/s/chat#c`, "2 runs", "<table>"},
		"/s/chat/timeline?runs=1":      {"The last 1 of 2 runs", "helper"},
		"/s/chat/files":                {"a.txt", "+2", "−2", "2 changes", "&#43;one", "&#43;two", "before prompt 2"},
		"/s/chat/files?file=../../etc": {"a.txt"},
		"/s/chat/events":               {"tool_result", "Download JSON"},
		"/s/chat/events?types=run_end": {"run_end"},
		"/s/chat/events?after=999999":  {"no such facts"},
		"/stats":                       {"By day", "script", "write", "95 %", "1 session,"},
		"/doctor":                      {"git: /usr/bin/git", "set &lt;script&gt;", "open sessions: 1 of 64"},
	} {
		body := s.page(path)
		for _, want := range wants {
			if !strings.Contains(body, want) {
				t.Errorf("%s lacks %q:\n%s", path, want, body)
			}
		}
		for _, bad := range []string{"<script>", "<img", "onerror=alert(2)>", "\u202e"} {
			if strings.Contains(body, bad) {
				t.Errorf("%s has %q", path, bad)
			}
		}
	}
	if body := s.page("/s/chat/events?types=run_end"); strings.Contains(body, "<code>tool_result") {
		t.Error("the filter shows other types")
	}
	for _, path := range []string{"/s/none/timeline", "/s/none/files", "/s/none/events", "/s/..%2f..%2fetc/files"} {
		if status, body, _ := s.answer(s.request("GET", path, "")); status != 404 && status != 400 {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
}

// The files of a session are brought back to before a prompt: a dry run says how, the form needs a
// confirmation, and nothing but files and conversation of the session change.
func TestRewindFiles(t *testing.T) {
	s, file := workSite(t)
	content := func() string {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	body := s.page("/s/chat/files")
	_, after, _ := strings.Cut(body, `<a href="?to=`)
	to, _, _ := strings.Cut(after, `"`)
	if _, err := strconv.ParseInt(to, 10, 64); err != nil {
		t.Fatal(err)
	}
	dry := s.page("/s/chat/files?to=" + to)
	if !strings.Contains(dry, "before prompt 2") || !strings.Contains(dry, "-two") || !strings.Contains(dry, "&#43;one") || content() != "two\n" {
		t.Errorf("the dry run changed the file to %q, or lacks a diff: %s", content(), dry)
	}
	var got rewound
	s.do("POST", "/v1/sessions/chat/rewind", `{"fact":`+to+`,"what":"files","dry_run":true}`, 200, &got)
	if len(got.Changes) != 1 || !strings.Contains(got.Changes[0].Diff, "+one") || !got.Dry || content() != "two\n" {
		t.Errorf("%+v", got)
	}
	s.post("/s/chat/rewind", url.Values{"fact": {to}, "what": {"both"}}, 400) // nobody is sure
	if content() != "two\n" {
		t.Fatal("the form works without a confirmation")
	}
	s.post("/s/chat/rewind", url.Values{"fact": {to}, "what": {"both"}, "sure": {"1"}}, 303)
	if content() != "one\n" || strings.Contains(s.page("/s/chat"), "done again") {
		t.Errorf("the file has %q after the rewind", content())
	}
	s.fails("POST", "/v1/sessions/chat/rewind", `{"fact":`+to+`,"what":"all"}`, 400, "bad_request")
	s.fails("POST", "/v1/sessions/chat/rewind", `{"fact":999999,"what":"files"}`, 404, "not_found")
	s.server.Restore = nil
	s.fails("POST", "/v1/sessions/chat/rewind", `{"fact":1,"what":"files"}`, 409, "no_checkpoints")
}

// The API tells what the pages show.
func TestInsight(t *testing.T) {
	s, file := workSite(t)
	var steps todoList
	s.do("GET", "/v1/sessions/chat/todos", "", 200, &steps)
	var list agentList
	s.do("GET", "/v1/sessions/chat/agents", "", 200, &list)
	if len(list.Agents) != 1 || list.Agents[0].Agent != "helper" || list.Agents[0].Reason != "completed" || steps.Todos == nil {
		t.Errorf("%+v %+v", list, steps)
	}
	var changed fileList
	s.do("GET", "/v1/sessions/chat/files?diff=true", "", 200, &changed)
	if len(changed.Files) != 1 || changed.Files[0].Path != file || changed.Files[0].Changes != 2 || len(changed.Files[0].Diffs) != 2 {
		t.Errorf("%+v", changed)
	}
	s.do("GET", "/v1/sessions/chat/files?since="+strconv.FormatInt(changed.Files[0].Seq-1, 10), "", 200, &changed)
	if len(changed.Files) != 1 || changed.Files[0].Changes != 1 || changed.Files[0].Diffs != nil {
		t.Errorf("since the last change: %+v", changed)
	}
	var tools toolList
	s.do("GET", "/v1/tools?session=chat", "", 200, &tools)
	if len(tools.Tools) != 2 {
		t.Errorf("%+v", tools)
	}
	s.fails("GET", "/v1/tools", "", 400, "bad_request")
	var known modelList
	s.do("GET", "/v1/models", "", 200, &known)
	if n := len(known.Models); n < 2 || !known.Models[n-1].Used || known.Models[n-1].Name != "script" {
		t.Errorf("%+v", known)
	}
	var sums figures
	for range 2 { // the second time from what was kept
		s.do("GET", "/v1/stats", "", 200, &sums)
		if sums.Sessions != 1 || sums.Total.Calls != 5 || len(sums.Tools) != 2 || sums.Tools[0].Name != "write" || sums.Tools[0].Calls != 2 || len(sums.Days) == 0 {
			t.Errorf("%+v", sums)
		}
	}
}

// FuzzViews draws the pages beside the conversation with hostile texts.
func FuzzViews(f *testing.F) {
	for _, s := range []string{hostile, "javascript:x", "../../etc/passwd", "--- a/<b>\n+++ b/<b>\n@@ @@\n+x", "\"onload=x", "a\u2066b\u200b\x1b[31m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := drawn()
		line := r.Line(s)
		diff := sessionhtml.Code(clip(r.Text(s)))
		for name, data := range map[string]any{
			"files": map[string]any{"ID": "chat", "Title": line, "Tab": "Files", "ReadOnly": false, "To": nil, "Points": []map[string]any{{"After": 1, "Text": line, "At": line, "N": 1, "Selected": true}},
				"Files": []map[string]any{{"ID": "f0", "Path": line, "Added": 1, "Deleted": 1, "Changes": 1, "Open": true, "Diffs": []template.HTML{diff}}}, "Cut": true, "Reads": []string{line}},
			"events": map[string]any{"ID": "chat", "Title": line, "Tab": "Events", "Types": line, "Earlier": "?" + url.Values{"types": {s}}.Encode(), "Next": "", "Lines": []map[string]any{{"Seq": 1, "At": line, "Type": line, "JSON": clip(r.Text(s))}}},
			"timeline": map[string]any{"ID": "chat", "Title": line, "Tab": "Timeline", "Shown": 1, "Runs": 2, "Left": 0, "Rows": []map[string]any{{"At": line, "Lane": line, "Kind": line, "What": line, "Href": "/s/chat#c1", "Failed": true, "Took": "", "Tokens": "", "USD": ""}},
				"Chart": &chart{Lanes: []chartLane{{Name: line, Rects: []rect{{Class: "model", Title: line, Href: "/s/chat#c1"}}}}}},
			"doctor": []map[string]any{{"OK": false, "Name": line, "Hint": line}},
		} {
			var out bytes.Buffer
			if err := pages.ExecuteTemplate(&out, name, data); err != nil {
				t.Fatal(name, err)
			}
			checkPage(t, &out, 0)
		}
		for _, c := range changesIn([]byte(`{"diff":`+strconv.Quote(s)+`}`), s) {
			inDir("/work", c.path)
		}
	})
}
