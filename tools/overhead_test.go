//go:build unix

package tools

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/openagent-go/agent/team"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
	"github.com/openagent-go/agent/workspace"
)

// BenchmarkOverhead is what tools cost, from a call's JSON to its result, beside
// the plain operation that they stand for: "tool" and "plain" do the same to the
// same data. That a written file and its name survive a power cut (fsync) is part of
// both; "plain unsynced" shows what it costs.
func BenchmarkOverhead(b *testing.B) {
	for _, c := range []struct {
		name string
		run  func(*testing.B)
	}{
		{"Read4KB", func(b *testing.B) { overRead(b, 4<<10) }},
		{"Read1MB", func(b *testing.B) { overRead(b, 1<<20) }},
		{"Write1MB", overWrite},
		{"Edit4KB", func(b *testing.B) { overEdit(b, 4<<10) }},
		{"Edit1MB", func(b *testing.B) { overEdit(b, 1<<20) }},
		{"MultiEdit1MB", overMultiEdit},
		{"NotebookEdit1MB", overNotebookEdit},
		{"ApplyPatch1MB", overApplyPatch},
		{"Bash", overBash},
		{"WebFetch100KB", overWebFetch},
		{"Todo", overTodos},
		{"Task", overTasks},
		{"CodeSearchHere", overCodeSearch},
	} {
		b.Run(c.name, c.run)
	}
}

// A ledger calls a tool and keeps the state that its calls leave.
type ledger struct {
	b     *testing.B
	tool  tool.Tool
	dir   string
	state json.RawMessage
}

func (l *ledger) call(input json.RawMessage) {
	l.b.Helper()
	name := l.tool.Spec().Name
	r, err := l.tool.Run(context.Background(), tool.Call{ID: "c1.0", Name: name, Session: "s", Dir: l.dir, State: l.state, Input: input})
	if err != nil || r.IsError {
		l.b.Fatalf("%s: %v %.300s", name, err, r.Text())
	}
	if r.Patch.State != nil {
		l.state = r.Patch.State
	}
}

// repeat calls the tool with the inputs by turns.
func (l *ledger) repeat(inputs ...any) {
	l.b.Helper()
	var encoded []json.RawMessage
	for _, in := range inputs {
		encoded = append(encoded, tooltest.Input(l.b, in))
	}
	timed(l.b, func(i int) { l.call(encoded[i%len(encoded)]) })
}

// timed does something over and over and reports the processor's time that it
// takes, with that of the programs which it starts: on a machine that does other
// things as well the time on the clock says little.
func timed(b *testing.B, op func(i int)) {
	b.Helper()
	start := processorTime(b)
	for i := 0; b.Loop(); i++ {
		op(i)
	}
	b.ReportMetric(float64(processorTime(b)-start)/float64(b.N), "cpu-ns/op")
}

func processorTime(b *testing.B) (ns int64) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var u syscall.Rusage
		if err := syscall.Getrusage(who, &u); err != nil {
			b.Fatal(err)
		}
		ns += u.Utime.Nano() + u.Stime.Nano()
	}
	return ns
}

// overheadFile is a file of code of about that size that begins with "needle".
func overheadFile(b *testing.B, size int) (d *desk, path, text string) {
	b.Helper()
	var t strings.Builder
	t.WriteString("needle\n")
	for i := 0; t.Len() < size; i++ {
		fmt.Fprintf(&t, "\tif err != nil { return err } // line %d of the code\n", i)
	}
	d = newDesk(b)
	path = d.put("file.txt", t.String())
	b.SetBytes(int64(t.Len()))
	b.ReportAllocs()
	return d, path, t.String()
}

func overRead(b *testing.B, size int) {
	b.Run("tool", func(b *testing.B) {
		d, path, _ := overheadFile(b, size)
		l := ledger{b: b, tool: d.read, dir: d.dir}
		l.repeat(readInput{FilePath: path})
	})
	b.Run("plain", func(b *testing.B) {
		_, path, _ := overheadFile(b, size)
		timed(b, func(int) {
			if _, err := os.ReadFile(path); err != nil {
				b.Fatal(err)
			}
		})
	})
}

// plainRewrites is a rewrite of the file with nothing but package os.
func plainRewrites(b *testing.B, size int, change func(text string, there, back string) string) {
	for _, sync := range []bool{true, false} {
		b.Run(map[bool]string{true: "plain", false: "plain unsynced"}[sync], func(b *testing.B) {
			_, path, _ := overheadFile(b, size)
			there, back := "needle", "thread"
			timed(b, func(int) {
				data, err := os.ReadFile(path)
				if err != nil {
					b.Fatal(err)
				}
				if err := plainReplace(path, change(string(data), there, back), sync); err != nil {
					b.Fatal(err)
				}
				there, back = back, there
			})
		})
	}
}

// plainReplace puts a file in the place of another.
func plainReplace(path, text string, sync bool) error {
	f, err := os.CreateTemp(filepath.Dir(path), "plain-")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		return err
	}
	if sync {
		if err := f.Sync(); err != nil {
			return err
		}
	}
	if err := os.Rename(f.Name(), path); err != nil || !sync {
		return err
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

func replaceOnce(text, there, back string) string { return strings.Replace(text, there, back, 1) }

// rewrites runs a tool that changes the file there and back again.
func rewrites(b *testing.B, size int, make func(*desk) tool.Tool, input func(path, there, back string) any) {
	b.Run("tool", func(b *testing.B) {
		d, path, text := overheadFile(b, size)
		l := ledger{b: b, tool: make(d), dir: d.dir, state: sight(path, []byte(text))}
		l.repeat(input(path, "needle", "thread"), input(path, "thread", "needle"))
	})
}

func overWrite(b *testing.B) {
	_, _, text := overheadFile(b, 1<<20)
	rewrites(b, 1<<20, func(d *desk) tool.Tool { return d.write }, func(path, there, back string) any {
		return writeInput{FilePath: path, Content: strings.Replace(text, "needle", back, 1)}
	})
	plainRewrites(b, 1<<20, func(_, _, back string) string { return strings.Replace(text, "needle", back, 1) })
}

func overEdit(b *testing.B, size int) {
	rewrites(b, size, func(d *desk) tool.Tool { return d.edit }, func(path, there, back string) any {
		return editInput{FilePath: path, OldString: there, NewString: back}
	})
	plainRewrites(b, size, replaceOnce)
}

func overMultiEdit(b *testing.B) {
	const edits = 10
	line := func(i int, word string) string { return fmt.Sprintf("// %s %d of the code", word, 100*i) }
	words := map[string]string{"needle": "line", "thread": "row"}
	rewrites(b, 1<<20, func(d *desk) tool.Tool { return MultiEdit(d.files) }, func(path, there, back string) any {
		in := multiEditInput{FilePath: path}
		for i := range edits {
			in.Edits = append(in.Edits, oneEdit{OldString: line(i, words[there]), NewString: line(i, words[back])})
		}
		return in
	})
	plainRewrites(b, 1<<20, func(text, there, back string) string {
		for i := range edits {
			text = strings.Replace(text, line(i, words[there]), line(i, words[back]), 1)
		}
		return text
	})
}

func overApplyPatch(b *testing.B) {
	rewrites(b, 1<<20, func(d *desk) tool.Tool { return ApplyPatch(d.files) }, func(path, there, back string) any {
		return applyPatchInput{Input: "*** Begin Patch\n*** Update File: " + path + "\n-" + there + "\n+" + back +
			"\n \tif err != nil { return err } // line 0 of the code\n*** End Patch"}
	})
	plainRewrites(b, 1<<20, replaceOnce)
}

// overNotebookEdit replaces one cell of a thousand; plain decodes and encodes it all.
func overNotebookEdit(b *testing.B) {
	type cell struct {
		Type     string         `json:"cell_type"`
		ID       string         `json:"id"`
		Metadata map[string]any `json:"metadata"`
		Source   []string       `json:"source"`
	}
	type notebook struct {
		Cells       []cell         `json:"cells"`
		Metadata    map[string]any `json:"metadata"`
		Format      int            `json:"nbformat"`
		FormatMinor int            `json:"nbformat_minor"`
	}
	setup := func(b *testing.B) (*desk, string, []byte) {
		n := notebook{Metadata: map[string]any{}, Format: 4, FormatMinor: 5}
		for i := range 1000 {
			n.Cells = append(n.Cells, cell{"markdown", "cell" + strconv.Itoa(i), map[string]any{}, []string{strings.Repeat("words and words\n", 60)}})
		}
		data, err := json.MarshalIndent(n, "", " ")
		if err != nil {
			b.Fatal(err)
		}
		d := newDesk(b)
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		return d, d.put("a.ipynb", string(data)+"\n"), append(data, '\n')
	}
	b.Run("tool", func(b *testing.B) {
		d, path, data := setup(b)
		l := ledger{b: b, tool: NotebookEdit(d.files), dir: d.dir, state: sight(path, data)}
		one, two := "one", "two"
		l.repeat(notebookEditInput{FilePath: path, Command: "replace", CellID: "cell500", Source: &one},
			notebookEditInput{FilePath: path, Command: "replace", CellID: "cell500", Source: &two})
	})
	b.Run("plain", func(b *testing.B) {
		_, path, _ := setup(b)
		timed(b, func(i int) {
			data, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			var n notebook
			if err := json.Unmarshal(data, &n); err != nil {
				b.Fatal(err)
			}
			n.Cells[500].Source = []string{strconv.Itoa(i % 2)}
			if data, err = json.MarshalIndent(n, "", " "); err != nil {
				b.Fatal(err)
			}
			if err := plainReplace(path, string(data), true); err != nil {
				b.Fatal(err)
			}
		})
	})
}

func overBash(b *testing.B) {
	b.Run("tool", func(b *testing.B) {
		d := newDesk(b)
		defer d.files.Close()
		l := ledger{b: b, tool: Bash(d.files), dir: d.dir}
		l.repeat(map[string]string{"command": "true"})
	})
	b.Run("plain", func(b *testing.B) {
		dir := b.TempDir()
		timed(b, func(int) {
			c := exec.Command("bash", "-c", "true")
			c.Dir = dir
			if out, err := c.CombinedOutput(); err != nil {
				b.Fatal(err, out)
			}
		})
	})
}

// overWebFetch fetches a page of this machine; the tool makes Markdown of it.
func overWebFetch(b *testing.B) {
	page := "<!doctype html><html><head><title>Page</title></head><body><h1>Page</h1>" +
		strings.Repeat("<p>A <b>paragraph</b> with a <a href=\"/link\">link</a> and a few more words.</p>\n", 1250) + "</body></html>"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = io.WriteString(w, page) // the client sees what is missing
	}))
	defer server.Close()
	b.Run("tool", func(b *testing.B) {
		l := ledger{b: b, tool: WebFetch(Web{AllowPrivate: true})}
		b.SetBytes(int64(len(page)))
		timed(b, func(i int) { // another address each time, since pages are kept
			l.call(tooltest.Input(b, fetchInput{URL: server.URL + "/?" + strconv.Itoa(i)}))
		})
	})
	b.Run("plain", func(b *testing.B) {
		b.SetBytes(int64(len(page)))
		timed(b, func(int) {
			resp, err := http.Get(server.URL)
			if err != nil {
				b.Fatal(err)
			}
			var body bytes.Buffer
			_, err = body.ReadFrom(resp.Body)
			resp.Body.Close()
			if err != nil || body.Len() != len(page) {
				b.Fatal(err, body.Len())
			}
		})
	})
}

// overTodos works with a list of twenty items.
func overTodos(b *testing.B) {
	list := todoInput{}
	for i := range 20 {
		list.Todos = append(list.Todos, todo{Content: "Do thing " + strconv.Itoa(i), Status: todoPending})
	}
	b.Run("write", func(b *testing.B) {
		l := ledger{b: b, tool: TodoWrite()}
		l.repeat(map[string]any{"todos": list.Todos})
	})
	b.Run("toggle", func(b *testing.B) {
		l := ledger{b: b, tool: TodoWrite()}
		l.call(tooltest.Input(b, map[string]any{"todos": list.Todos}))
		l.repeat(map[string]any{"action": "toggle", "id": 7})
	})
}

// overTasks works with a hundred tasks in memory.
func overTasks(b *testing.B) {
	tasks := func(b *testing.B, n int) *team.Store {
		m := team.Memory()
		l := ledger{b: b, tool: TaskCreate(m)}
		for i := range n {
			l.call(tooltest.Input(b, map[string]any{"subject": "Task " + strconv.Itoa(i)}))
		}
		return m
	}
	b.Run("create", func(b *testing.B) {
		l := ledger{b: b}
		input := tooltest.Input(b, map[string]any{"subject": "A task"})
		timed(b, func(i int) {
			if i%100 == 0 {
				l.tool = TaskCreate(team.Memory())
			}
			l.call(input)
		})
	})
	for _, c := range []struct {
		name string
		tool func(*team.Store) tool.Tool
		in   map[string]any
	}{
		{"update", func(m *team.Store) tool.Tool { return TaskUpdate(m) }, map[string]any{"id": "task_50", "subject": "Another"}},
		{"get", func(m *team.Store) tool.Tool { return newTaskGet(m) }, map[string]any{"id": "task_50"}},
		{"list", func(m *team.Store) tool.Tool { return TaskList(m) }, map[string]any{}},
	} {
		b.Run(c.name, func(b *testing.B) {
			l := ledger{b: b, tool: c.tool(tasks(b, 100))}
			l.repeat(c.in)
		})
	}
}

// overCodeSearch searches this repository for a name and for words.
func overCodeSearch(b *testing.B) {
	root, err := filepath.Abs("..")
	if err != nil {
		b.Fatal(err)
	}
	ws := &workspace.Workspace{Root: root}
	defer ws.Close()
	for _, query := range []string{"maxReadLines", "lines shown to the model"} {
		b.Run(map[bool]string{true: "words", false: "name"}[strings.Contains(query, " ")], func(b *testing.B) {
			l := ledger{b: b, tool: codeSearchTool(ws), dir: root}
			l.repeat(map[string]any{"query": query})
		})
	}
}
