package transcript_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/transcript"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
)

const sample = `{
  "messages": [
    {"role": "user", "content": "Analyse the project"},
    {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "I look."}, {"type": "tool_use", "id": "toolu_1", "name": "Read", "input": {"file_path": "/a"}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": [{"type": "text", "text": "content of a"}, {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}]}]},
    {"role": "assistant", "content": [{"type": "text", "text": "It is a project."}]},
    {"role": "user", "content": [{"type": "text", "text": "Thanks"}, {"type": "odd", "x": 1}]},
    {"role": "assistant", "content": "Welcome."}
  ],
  "metadata": {"createdAt": "2025-11-03T10:20:30Z", "cwd": "/project", "firstPrompt": "Analyse the project", "gitBranch": "main", "id": "my-session", "messageCount": 6, "model": "claude-sonnet-4-6", "summary": "An  analysis", "tag": "work", "updatedAt": "2025-11-03T11:20:30Z"}
}`

// file writes a transcript where the Swift SDK would and returns its name.
func file(t *testing.T, root, id, text string) string {
	t.Helper()
	name := filepath.Join(root, id, transcript.Name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o700), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestImport(t *testing.T) {
	root := t.TempDir()
	name := file(t, root, "my-session", sample)
	found, err := transcript.Find(root)
	if err != nil || len(found) != 1 || found[0] != name {
		t.Fatalf("found %q, %v", found, err)
	}
	tr, err := transcript.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	if tr.Skipped != 1 {
		t.Errorf("%d blocks were skipped, want 1", tr.Skipped)
	}
	d := session.Dir(t.TempDir())
	if err := tr.Store(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	info, err := session.Stat(t.Context(), d, "my-session")
	if err != nil {
		t.Fatal(err)
	}
	created := time.Date(2025, 11, 3, 10, 20, 30, 0, time.UTC)
	if !info.Created.Equal(created) || !info.Updated.Equal(created.Add(time.Hour)) || info.Dir != "/project" || info.Branch != "main" ||
		info.Model != "claude-sonnet-4-6" || info.Title != "An analysis" || info.Tag != "work" || info.Prompt != "Analyse the project" || info.Messages != 6 {
		t.Errorf("%+v", info)
	}
	if r, err := session.Verify(t.Context(), d, "my-session"); err != nil || len(r.Problems()) > 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := tr.Store(t.Context(), d); !errors.Is(err, session.ErrExists) {
		t.Errorf("importing again: %v", err)
	}

	m := llmtest.Script(llmtest.Step{Text: "ok"})
	s := (&agent.Agent{Model: m, Sessions: d}).Session("my-session")
	defer s.Close()
	if _, err := s.Prompt(t.Context(), "next"); err != nil {
		t.Fatal(err)
	}
	asked := m.Requests()[0].Messages
	if len(asked) != 7 {
		t.Fatalf("%d messages", len(asked))
	}
	result, ok := asked[2].Content[0].(llm.ToolResult)
	if th, is := asked[1].Content[0].(llm.Thinking); !is || th.Signature != "c2ln" || !ok || result.ID != "toolu_1" || len(result.Content) != 2 {
		t.Errorf("%+v", asked[:3])
	}
}

// A transcript that has lost its dates is as old as its file: else it would be the first to
// be pruned for its age.
func TestUndated(t *testing.T) {
	name := file(t, t.TempDir(), "undated", `{"metadata":{"cwd":"/project"},"messages":[{"role":"user","content":"x"},{"role":"assistant","content":"y"}]}`)
	at := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
	tr, err := transcript.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	s := session.Memory()
	if err := tr.Store(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	info, err := session.Stat(t.Context(), s, "undated")
	if err != nil || !info.Created.Equal(at) || !info.Updated.Equal(at) {
		t.Errorf("%+v, %v", info, err)
	}
	for e, err := range s.Read(t.Context(), "undated", 0) {
		if err != nil || !e.Time.Equal(at) {
			t.Errorf("fact %d is of %v, %v", e.Seq, e.Time, err)
		}
	}
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	a, b := file(t, root, "a", sample), file(t, root, "b", sample)
	file(t, root, "c/deep", sample)
	if err := os.Symlink(filepath.Dir(a), filepath.Join(root, "link")); err != nil {
		t.Skip(err)
	}
	if err := errors.Join(os.Mkdir(filepath.Join(root, "d"), 0o700), os.Symlink(a, filepath.Join(root, "d", transcript.Name))); err != nil {
		t.Fatal(err)
	}
	found, err := transcript.Find(root)
	if err != nil || fmt.Sprint(found) != fmt.Sprint([]string{a, b}) {
		t.Errorf("found %q, %v", found, err)
	}
	if _, err := transcript.Open(filepath.Join(root, "d", transcript.Name)); err == nil {
		t.Error("a link was followed")
	}
	if found, err := transcript.Find(a); err != nil || len(found) != 1 {
		t.Errorf("found %q, %v", found, err)
	}
	if _, err := transcript.Find(filepath.Join(root, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing folder: %v", err)
	}
}

// Whatever a file holds, an import ends with an error or a session that is whole.
func TestHostile(t *testing.T) {
	deep := strings.Repeat(`[{"type":"tool_result","content":`, 4000) + `"x"` + strings.Repeat(`}]`, 4000)
	for name, test := range map[string]struct {
		text string
		ok   bool
	}{
		"empty":          {``, false},
		"no object":      {`[]`, false},
		"cut":            {sample[:len(sample)/2], false},
		"nothing":        {`{}`, true},
		"null":           {`{"metadata":null,"messages":null}`, true},
		"path id":        {`{"metadata":{"id":"../../x"},"messages":[]}`, false},
		"nul id":         {`{"metadata":{"id":"a\u0000b"},"messages":[]}`, false},
		"odd messages":   {`{"messages":[{"role":"user","content":7},{"role":"system","content":"s"},{"role":"assistant","content":[1,null,{"type":7},{"type":"tool_use"}]},{}]}`, true},
		"odd times":      {`{"metadata":{"createdAt":"yesterday","updatedAt":[1]},"messages":[{"role":"user","content":"x"}]}`, true},
		"huge time":      {`{"metadata":{"createdAt":1e300,"updatedAt":"9999-12-31T23:59:59-23:59"},"messages":[{"role":"user","content":"x"}]}`, true},
		"swift time":     {`{"metadata":{"createdAt":784109430.5},"messages":[{"role":"user","content":"x"}]}`, true},
		"relative cwd":   {`{"metadata":{"cwd":"../x"},"messages":[{"role":"user","content":"x"}]}`, true},
		"long title":     {`{"metadata":{"summary":"` + strings.Repeat(`é\n`, 5000) + `"},"messages":[{"role":"user","content":"x"}]}`, true},
		"bad base64":     {`{"messages":[{"role":"user","content":[{"type":"image","source":{"type":"base64","data":"%%%"}}]}]}`, true},
		"deep":           {`{"messages":[{"role":"user","content":` + deep + `}]}`, true},
		"many":           {`{"messages":[` + strings.Repeat(`{},`, 100_001) + `{}]}`, false},
		"large":          {`{"x":"` + strings.Repeat("x", 65<<20) + `"}`, false},
		"orphans":        {`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"1","content":"x"}]},{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"a","input":"no"},{"type":"tool_use","id":"1","name":"a","input":{}}]}]}`, true},
		"terminal title": {`{"metadata":{"summary":"\u001b[31mred"},"messages":[{"role":"user","content":"x"}]}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			tr, err := transcript.Open(file(t, t.TempDir(), "folder-id", test.text))
			if err != nil {
				if test.ok {
					t.Error(err)
				}
				return
			}
			if !test.ok {
				t.Fatalf("it was taken: %+v", tr)
			}
			if tr.ID != "folder-id" {
				t.Errorf("the id is %q", tr.ID)
			}
			d := session.Dir(t.TempDir())
			if err := tr.Store(t.Context(), d); err != nil {
				t.Fatal(err)
			}
			if r, err := session.Verify(t.Context(), d, tr.ID); err != nil || len(r.Problems()) > 0 {
				t.Errorf("%+v, %v", r, err)
			}
			if name == "swift time" && tr.Created.Year() != 2025 {
				t.Errorf("created %v", tr.Created)
			}
			if name == "relative cwd" && tr.Dir != "" {
				t.Errorf("the folder is %q", tr.Dir)
			}
			m := llmtest.Script(llmtest.Step{Text: "ok"})
			s := (&agent.Agent{Model: m, Sessions: d}).Session(tr.ID)
			defer s.Close()
			if _, err := s.Prompt(t.Context(), "next"); err != nil {
				t.Error(err)
			}
		})
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(sample))
	f.Fuzz(func(t *testing.T, data []byte) {
		tr, err := transcript.Read(strings.NewReader(string(data)))
		if err != nil {
			return
		}
		tr.ID = "s"
		store := session.Memory()
		if err := tr.Store(t.Context(), store); err != nil {
			t.Fatal(err)
		}
	})
}
