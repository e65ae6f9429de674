package tools

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/openagent-go/agent/internal/teamstore"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tools/search"
	"github.com/openagent-go/agent/workspace"
)

// halfway cancels the call when its tool is in the midst of its work.
type halfway struct {
	*workspace.Workspace
	cancel context.CancelFunc
}

func (h halfway) Update(ctx context.Context, dir, name string, change func([]byte) ([]byte, error)) error {
	return h.Workspace.Update(ctx, dir, name, func(old []byte) ([]byte, error) {
		h.cancel()
		return change(old)
	})
}

func (h halfway) OpenFolder(ctx context.Context, dir, name string) (workspace.Folder, string, error) {
	folder, path, err := h.Workspace.OpenFolder(ctx, dir, name)
	h.cancel()
	return folder, path, err
}

type halfwaySettings struct {
	*toolapi.SettingsFile
	cancel context.CancelFunc
}

func (h halfwaySettings) Set(key string, value json.RawMessage) error {
	h.cancel()
	return h.SettingsFile.Set(key, value)
}

type halfwayMail struct {
	teamstore.Shared
	cancel context.CancelFunc
}

func (h halfwayMail) Send(ctx context.Context, space string, m teamstore.Message) ([]string, error) {
	h.cancel()
	return h.Shared.Send(ctx, space, m)
}

type halfwayTasks struct {
	*teamstore.Memory
	cancel context.CancelFunc
}

func (h halfwayTasks) AddTask(ctx context.Context, space string, t teamstore.Task) (teamstore.Task, error) {
	h.cancel()
	return h.Memory.AddTask(ctx, space, t)
}

// A file is written as a whole or not at all, and nothing else is left in its folder.
func TestFilesCancelledHalfway(t *testing.T) {
	const notebook = `{"cells":[{"cell_type":"markdown","id":"a","source":"x","metadata":{}}],"metadata":{},"nbformat":4,"nbformat_minor":5}`
	for name, c := range map[string]struct {
		tool  func(Workspace) tool.Tool
		old   string
		input map[string]any
	}{
		"Write":        {func(f Workspace) tool.Tool { return Write(f) }, "old\n", map[string]any{"content": "new\n"}},
		"Edit":         {func(f Workspace) tool.Tool { return Edit(f) }, "old\n", map[string]any{"old_string": "old", "new_string": "new"}},
		"MultiEdit":    {func(f Workspace) tool.Tool { return MultiEdit(f) }, "old\n", map[string]any{"edits": []any{map[string]any{"old_string": "old", "new_string": "new"}}}},
		"NotebookEdit": {func(f Workspace) tool.Tool { return NotebookEdit(f) }, notebook, map[string]any{"cell_id": "a", "new_source": "y"}},
	} {
		t.Run(name, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, "f.ipynb")
			if err := os.WriteFile(path, []byte(c.old), 0o644); err != nil {
				t.Fatal(err)
			}
			ws := &workspace.Workspace{Root: dir}
			defer ws.Close()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			key := "file_path"
			if name == "NotebookEdit" {
				key = "notebook_path"
			}
			c.input[key] = path
			input, err := json.Marshal(c.input)
			if err != nil {
				t.Fatal(err)
			}
			r, err := c.tool(halfway{ws, cancel}).Run(ctx, tool.Call{ID: "c1.0", Dir: dir, Input: input, State: json.RawMessage(`{` + string(toolapi.Details(path)) + `:` + string(sightOf(path, c.old)) + `}`)})
			if ctx.Err() == nil {
				t.Fatal("it was not cancelled")
			}
			data, _ := os.ReadFile(path)
			failed := err != nil || r.IsError
			if failed != (string(data) == c.old) {
				t.Errorf("failed: %v (%v, %+v), and the file holds %q", failed, err, r, data)
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
				t.Errorf("%v are left, %v", entries, err)
			}
		})
	}
}

// sightOf is the state's record of a file that the model has seen.
func sightOf(path, content string) json.RawMessage {
	var state map[string]json.RawMessage
	if err := json.Unmarshal(sight(path, []byte(content)), &state); err != nil {
		panic(err) // we made it
	}
	return state[path]
}

// Tools that only read or wait end with their call.
func TestCancelledHalfway(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("package a\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	ws := &workspace.Workspace{Root: dir}
	defer ws.Close()
	for name, c := range map[string]struct {
		tool  func(context.CancelFunc) tool.Tool
		input string
	}{
		"CodeSearch": {func(cancel context.CancelFunc) tool.Tool { return codeSearchTool(halfway{ws, cancel}) }, `{"query":"package"}`},
		"Glob":       {func(cancel context.CancelFunc) tool.Tool { return Glob(halfway{ws, cancel}) }, `{"pattern":"*.go"}`},
		"WebSearch": {func(cancel context.CancelFunc) tool.Tool {
			return WebSearch(provider(func(ctx context.Context, _ search.Query) ([]search.Hit, error) {
				cancel()
				<-ctx.Done()
				return nil, ctx.Err()
			}))
		}, `{"query":"x"}`},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		if r, err := c.tool(cancel).Run(ctx, tool.Call{ID: "c1.0", Dir: dir, Input: json.RawMessage(c.input)}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		cancel()
	}
}

// Stored output is whole, and the result of the call says so.
func TestKeptWhenCancelledHalfway(t *testing.T) {
	run := func(made func(context.CancelFunc) tool.Tool, input string) bool {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r, err := made(cancel).Run(ctx, tool.Call{ID: "c1.0", Session: "s", Input: json.RawMessage(input)})
		if ctx.Err() == nil {
			t.Errorf("%s was not cancelled", input)
		}
		return err == nil && !r.IsError
	}
	f := testSettings(t)
	done := run(func(cancel context.CancelFunc) tool.Tool { return newConfig(halfwaySettings{f, cancel}) }, `{"action":"set","key":"loud","value":true}`)
	if v, err := f.Get("loud"); err != nil || done != (string(v.Value) == "true") {
		t.Errorf("Config: done %v, the setting is %s, %v", done, v.Value, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(f.Path)); err == nil && len(entries) != 1 {
		t.Errorf("Config: %v are left", entries)
	}
	store := new(teamstore.Memory)
	if _, err := store.CreateTeam(t.Context(), "s", "red", "main", []string{"ann"}, ""); err != nil {
		t.Fatal(err)
	}
	done = run(func(cancel context.CancelFunc) tool.Tool { return SendMessage(stored(halfwayMail{store, cancel})) }, `{"to":"ann","message":"hi"}`)
	got := 0
	if err := store.Take(t.Context(), "s", "ann", func(ms []teamstore.Message) error { got = len(ms); return nil }); err != nil || done != (got == 1) {
		t.Errorf("SendMessage: done %v, %d messages, %v", done, got, err)
	}
	done = run(func(cancel context.CancelFunc) tool.Tool { return TaskCreate(stored(halfwayTasks{store, cancel})) }, `{"subject":"x"}`)
	if tasks, err := store.Tasks(t.Context(), "s", teamstore.Filter{}); err != nil || done != (len(tasks) == 1) {
		t.Errorf("TaskCreate: done %v, %d tasks, %v", done, len(tasks), err)
	}
}
