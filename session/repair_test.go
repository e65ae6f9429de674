package session_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

type asked struct {
	N int `json:"n"`
}

// count is a tool that says its number; from 100 on it says much.
var count = tool.New(tool.Spec{Name: "count"}, func(_ context.Context, _ tool.Call, in asked) (*tool.Result, error) {
	text := fmt.Sprintf("result %d", in.N)
	if in.N >= 100 {
		text += strings.Repeat(" and more", 5000)
	}
	return tool.Text(text), nil
})

// recorded returns a store whose session s has three prompts with calls of tools,
// as an agent has recorded them.
func recorded(t *testing.T) session.Folder {
	t.Helper()
	d := session.Folder{Path: t.TempDir()}
	a := &agent.Agent{Sessions: d, Tools: []tool.Tool{count}, Permissions: permission.Policy{Mode: permission.Bypass},
		Model: llmtest.Script(
			llmtest.Call(llmtest.Use("", "count", asked{1}), llmtest.Use("", "count", asked{100})), llmtest.Step{Text: "answer 1"},
			llmtest.Call(llmtest.Use("", "count", asked{2})), llmtest.Step{Text: "answer 2"},
			llmtest.Step{Text: "answer 3"})}
	s := a.Session("s")
	defer s.Close()
	for n := 1; n <= 3; n++ {
		if _, err := s.Prompt(t.Context(), fmt.Sprintf("prompt %d", n)); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func journalOf(d session.Folder) string { return filepath.Join(d.Path, "s", "journal.jsonl") }

func lines(t *testing.T, d session.Folder) [][]byte {
	t.Helper()
	data, err := os.ReadFile(journalOf(d))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.SplitAfter(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
}

// goOn has an agent continue with the session and returns what its model was told.
// Requests must be legal.
func goOn(t *testing.T, d session.Folder) string {
	t.Helper()
	m := llmtest.Script(llmtest.Step{Text: "fine"})
	a := &agent.Agent{Sessions: d, Tools: []tool.Tool{count}, Model: m}
	s := a.Session("s")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "prompt 4"); err != nil {
		t.Fatalf("going on: %v", err)
	}
	var b strings.Builder
	messages := m.Requests()[0].Messages
	for i, msg := range messages {
		b.WriteString(msg.Text() + "\n")
		for _, block := range msg.Content {
			if r, ok := block.(llm.ToolResult); ok {
				b.WriteString(r.Content.Text() + "\n")
			}
		}
		uses := msg.ToolUses()
		if len(uses) == 0 {
			continue
		}
		for k, u := range uses {
			if i+1 == len(messages) || len(messages[i+1].Content) != len(uses) || messages[i+1].Content[k].(llm.ToolResult).ID != u.ID {
				t.Fatalf("message %d: call %s is not followed by its result", i, u.ID)
			}
		}
	}
	return b.String()
}

// repaired repairs the session, checks the promises of Repair, and has an agent continue
// with it.
func repaired(t *testing.T, d session.Folder) (*session.Repaired, string) {
	t.Helper()
	before, err := os.ReadFile(journalOf(d))
	if err != nil {
		t.Fatal(err)
	}
	r, err := session.Repair(t.Context(), d, "s")
	if err != nil {
		t.Fatal(err)
	}
	if kept, err := os.ReadFile(r.Backup); err != nil || !bytes.Equal(kept, before) {
		t.Fatalf("the damaged journal was not kept: %v", err)
	}
	after, err := session.Verify(t.Context(), d, "s")
	if err != nil || len(session.Found(after).Problems) > 0 || session.Found(after).Facts != session.Done(r).Kept+session.Done(r).Rewritten {
		t.Fatalf("after repair: %+v, %v; kept %d, written again %d", after, err, session.Done(r).Kept, session.Done(r).Rewritten)
	}
	if again, err := session.Repair(t.Context(), d, "s"); err != nil || again.Backup != "" || session.Done(again).Kept != session.Found(after).Facts {
		t.Fatalf("repairing again: %+v, %v", again, err)
	}
	return r, goOn(t, d)
}

func TestVerifyWhole(t *testing.T) {
	d := recorded(t)
	r, err := session.Verify(t.Context(), d, "s")
	if err != nil || r.Damaged() || len(session.Found(r).Problems) > 0 || session.Found(r).Facts != int64(len(lines(t, d))-1) || session.Found(r).Lines != len(lines(t, d)) {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := session.Repair(t.Context(), d, "s"); err != nil || r.Backup != "" || session.Done(r).Kept != session.Done(r).Before.Facts {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := session.Verify(t.Context(), d, "none"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("verifying none: %v", err)
	}
	if _, err := session.Repair(t.Context(), d, "none"); !errors.Is(err, session.ErrNotFound) {
		t.Errorf("repairing none: %v", err)
	}
	open(t, d, "s")
	if _, err := session.Repair(t.Context(), d, "s"); !errors.Is(err, session.ErrBusy) {
		t.Errorf("repairing a session in use: %v", err)
	}
}

// Whatever line is damaged in whatever way, it is named, and after the repair all
// is there that was said in the other lines.
func TestRepairAnyLine(t *testing.T) {
	t.Parallel()
	whole := recorded(t)
	all := lines(t, whole)
	damages := map[string]struct {
		kind  string // of a line in the middle
		later int    // how many lines later it is noticed
		do    func(line []byte) []byte
	}{
		"flipped":  {"checksum", 0, func(l []byte) []byte { l[len(l)/2] ^= 1; return l }},
		"deleted":  {"sequence", 0, func([]byte) []byte { return nil }},
		"zeros":    {"checksum", 0, func(l []byte) []byte { return append(make([]byte, len(l)-1), '\n') }},
		"repeated": {"sequence", 1, func(l []byte) []byte { return append(bytes.Clone(l), l...) }},
		"garbage":  {"checksum", 1, func(l []byte) []byte { return append(bytes.Clone(l), "garbage\n"...) }},
		"joined":   {"checksum", 0, func(l []byte) []byte { l[len(l)-1] = ' '; return l }},
		"nonsense": {"format", 0, func([]byte) []byte { return []byte(session.Seal(`{"seq":5,"prev":{}`)) }},
	}
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step := 3
			if name == "flipped" || name == "deleted" {
				step = 1
			}
			for i := 1; i < len(all)-1; i += step {
				d := session.Folder{Path: t.TempDir()}
				if err := os.CopyFS(d.Path, os.DirFS(whole.Path)); err != nil {
					t.Fatal(err)
				}
				var data []byte
				for k, line := range all {
					if line = bytes.Clone(line); k == i {
						line = damage.do(line)
					}
					data = append(data, line...)
				}
				if err := os.WriteFile(journalOf(d), append(data, '\n'), 0o600); err != nil {
					t.Fatal(err)
				}
				r, err := session.Verify(t.Context(), d, "s")
				if err != nil || !r.Damaged() {
					t.Fatalf("line %d: %+v, %v", i+1, r, err)
				}
				if p := session.Found(r).Problems[0]; p.Line != i+1+damage.later || p.Kind != damage.kind {
					t.Fatalf("line %d: the first problem is %+v", i+1, p)
				}
				_, said := repaired(t, d)
				lost := string(all[i])
				for _, text := range []string{"prompt 1", "result 1", "result 100", "answer 1", "prompt 2", "result 2", "answer 2", "prompt 3", "answer 3"} {
					gone := strings.Contains(lost, `"`+text) || strings.Contains(lost, `"result":"`) && text == "result 100" ||
						strings.Contains(lost, `"name":"count"`) && strings.Contains(lost, "assistant_message") && strings.HasPrefix(text, "result")
					if !gone && !strings.Contains(said, text) {
						t.Errorf("line %d: %q is not there after the repair; lost was %.200s", i+1, text, lost)
					}
				}
			}
		})
	}
}

func TestRepairBlob(t *testing.T) {
	for name, damage := range map[string]func(string) error{
		"missing": os.Remove,
		"altered": func(name string) error { return os.WriteFile(name, []byte(`"x"`), 0o600) },
	} {
		d := recorded(t)
		blobs, _ := filepath.Glob(filepath.Join(d.Path, "s", "blobs", "*"))
		if len(blobs) != 1 {
			t.Fatalf("%d blobs", len(blobs))
		}
		if err := damage(blobs[0]); err != nil {
			t.Fatal(err)
		}
		r, err := session.Verify(t.Context(), d, "s")
		if err != nil || len(session.Found(r).Problems) != 1 || session.Found(r).Problems[0].Kind != "blob" || !r.Damaged() {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		rep, said := repaired(t, d)
		if session.Done(rep).Rewritten != 0 || session.Done(rep).Kept != session.Found(r).Facts {
			t.Errorf("%s: %+v", name, rep)
		}
		if !strings.Contains(said, "is lost") || !strings.Contains(said, "answer 3") {
			t.Errorf("%s: the model is told %s", name, said)
		}
	}
}

func TestRepairHeader(t *testing.T) {
	for name, header := range map[string]string{
		"none":      "",
		"garbage":   "garbage\n",
		"flipped":   "flip",
		"another's": session.Seal(`{"openagent":1,"session":"other","created":"2026-01-02T03:04:05Z"`),
	} {
		d := recorded(t)
		all := lines(t, d)
		if header == "flip" {
			all[0][20] ^= 1
			header = string(all[0])
		}
		data := append([]byte(header), bytes.Join(all[1:], nil)...)
		if err := os.WriteFile(journalOf(d), append(data, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := session.Verify(t.Context(), d, "s")
		if err != nil || !r.Damaged() || session.Found(r).Problems[0].Kind != "header" || session.Found(r).Problems[0].Line != 1 || session.Found(r).Facts != int64(len(all)-1) {
			t.Fatalf("%s: %+v, %v", name, r, err)
		}
		rep, said := repaired(t, d)
		if session.Done(rep).Rewritten != 0 || !strings.Contains(said, "prompt 1") {
			t.Errorf("%s: %+v, %s", name, rep, said)
		}
		if info, err := d.Stat(t.Context(), "s"); err != nil || info.Created.IsZero() || info.Dir == "" {
			t.Errorf("%s: %+v, %v", name, info, err)
		}
	}
}

// The remains of a crash at the end are named and are not damage.
func TestVerifyTail(t *testing.T) {
	for tail, kind := range map[string]string{
		`{"seq":99,"pre`: "torn", string(make([]byte, 4096)): "zeros", `{"s`: "torn",
		`{"seq":99,"pre` + string(make([]byte, 100)): "torn",
	} {
		d := recorded(t)
		appendTo(t, journalOf(d), tail)
		r, err := session.Verify(t.Context(), d, "s")
		if err != nil || r.Damaged() || len(session.Found(r).Problems) != 1 || session.Found(r).Problems[0].Kind != kind {
			t.Errorf("%q: %+v, %v", tail, r, err)
		}
		if r, err := session.Repair(t.Context(), d, "s"); err != nil || r.Backup != "" {
			t.Errorf("%q: %+v, %v", tail, r, err)
		}
		if said := goOn(t, d); !strings.Contains(said, "answer 3") {
			t.Errorf("%q: the model is told %s", tail, said)
		}
	}
}

func appendTo(t *testing.T, name, text string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

// A session of a newer version is neither verified nor repaired.
func TestRepairNewer(t *testing.T) {
	d := recorded(t)
	all := lines(t, d)
	all[0] = []byte(session.Seal(`{"openagent":2,"session":"s","created":"2026-01-02T03:04:05Z"`))
	all[3][10] ^= 1
	data := append(bytes.Join(all, nil), '\n')
	if err := os.WriteFile(journalOf(d), data, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := session.Verify(t.Context(), d, "s"); !errors.Is(err, session.ErrVersion) {
		t.Errorf("verify: %v", err)
	}
	if _, err := session.Repair(t.Context(), d, "s"); !errors.Is(err, session.ErrVersion) {
		t.Errorf("repair: %v", err)
	}
	if now, err := os.ReadFile(journalOf(d)); err != nil || !bytes.Equal(now, data) {
		t.Errorf("the file was touched, %v", err)
	}
}
