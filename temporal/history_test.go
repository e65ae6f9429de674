package temporal

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/durable"
	"github.com/openagent-go/agent/durable/durabletest"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/temporal/internal/flow"
	"github.com/openagent-go/agent/tool"
)

var update = flag.Bool("update", false, "write the histories of TestHistory to testdata")

// The most that the history of a wake-up may have.
const (
	mostEvents = 16
	mostBytes  = 2048
)

// TestReplay replays histories that a server recorded, as workers with new code do. If this fails, a
// deploy breaks the wake-ups that are under way: keep the old steps, or use workflow.GetVersion.
func TestReplay(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no histories in testdata", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			replayer := worker.NewWorkflowReplayer()
			replayer.RegisterWorkflowWithOptions(flow.WakeUp, workflow.RegisterOptions{Name: flow.WorkflowName})
			if err := replayer.ReplayWorkflowHistoryFromJSONFile(nil, file); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestHistory holds that a wake-up has a short history, however many turns the run has. It needs a
// server, see TestServer.
func TestHistory(t *testing.T) {
	address, namespace, ok := strings.Cut(os.Getenv("TEMPORAL_TEST_SERVER"), " ")
	if !ok {
		t.Skip("TEMPORAL_TEST_SERVER does not name a server and a namespace")
	}
	c, err := client.Dial(client.Options{HostPort: address, Namespace: namespace, Identity: "test"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	queue := fmt.Sprint("history-", os.Getpid())
	type number struct {
		N int `json:"n"`
	}
	read := tool.New(tool.Spec{Name: "read", ReadOnly: true}, func(context.Context, tool.Call, number) (*tool.Result, error) { return tool.Text("done"), nil })
	begun, release := make(chan struct{}), make(chan struct{})
	hold := tool.New(tool.Spec{Name: "hold", ReadOnly: true}, func(ctx context.Context, _ tool.Call, _ number) (*tool.Result, error) {
		begun <- struct{}{}
		select {
		case <-release:
			return tool.Text("done"), nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	})
	model := &llmtest.Model{Rule: func(r *llmtest.Request, _ int) llmtest.Step {
		turn, want := 0, 0
		for _, m := range r.Messages {
			if m.Role == llm.Assistant {
				turn++
			}
			_, _ = fmt.Sscanf(m.Text(), "%d turns", &want)
		}
		switch {
		case r.Prompt() == "hold" && turn == 0:
			return llmtest.Call(llmtest.Use("", "hold", number{0}))
		case turn+1 < want:
			return llmtest.Call(llmtest.Use("", "read", number{turn}))
		}
		return llmtest.Say("done")
	}}
	memory := &durabletest.Memory{Lease: 2 * time.Second}
	w := &durable.Worker{Backend: memory.Connect(), Grace: time.Millisecond, Agent: func(context.Context, durable.Where) (durable.Hosted, error) {
		return durable.Hosted{Agent: &agent.Agent{Model: model, Tools: []tool.Tool{read, hold}, Permissions: permission.Policy{Mode: permission.Bypass}, Budget: agent.Budget{Turns: 2000}}}, nil
	}}
	// work starts a worker. Its end gives back what it has.
	work := func() (end func()) {
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			if err := Run(ctx, c, queue, w, Options{}); err != nil {
				t.Error(err)
			}
		}()
		return func() { stop(); <-ended }
	}
	end := work()
	defer func() { end() }()
	db := &durable.Client{Backend: memory.Connect(), Engine: Engine{Client: c, Queue: queue, Heartbeat: 2 * time.Second}}
	prompt := func(session, text string, during func()) {
		t.Helper()
		id, err := db.Send(t.Context(), session, "", durable.Prompt{Text: text})
		if err != nil {
			t.Fatal(err)
		}
		if during != nil {
			during()
		}
		if out, err := db.Wait(t.Context(), session, id); err != nil || out.Reason != event.Completed {
			t.Fatal(session, out.Reason, out.Message, err)
		}
	}
	prompt("one-turn", "1 turns", nil)
	prompt("thousand-turns", "1000 turns", nil)
	prompt("woken", "hold", func() {
		<-begun
		if _, err := db.Send(t.Context(), "woken", "", durable.Message{Text: "also this"}); err != nil {
			t.Fatal(err)
		}
		release <- struct{}{}
	})
	prompt("drained", "hold", func() {
		<-begun
		end()
		end = work()
		<-begun
		release <- struct{}{}
	})
	for _, session := range []string{"one-turn", "thousand-turns", "woken", "drained"} {
		run := c.GetWorkflow(t.Context(), flow.WorkflowID+queue+"/"+session, "")
		if err := run.Get(t.Context(), nil); err != nil {
			t.Fatal(session, err)
		}
		described, err := c.DescribeWorkflowExecution(t.Context(), run.GetID(), run.GetRunID())
		if err != nil {
			t.Fatal(err)
		}
		info := described.WorkflowExecutionInfo
		t.Logf("%s: %d events, %d bytes", session, info.HistoryLength, info.HistorySizeBytes)
		if session != "woken" && (info.HistoryLength > mostEvents || info.HistorySizeBytes > mostBytes) {
			t.Errorf("%s: %d events, %d bytes; at most %d and %d are allowed", session, info.HistoryLength, info.HistorySizeBytes, mostEvents, mostBytes)
		}
		if *update && session != "thousand-turns" {
			writeHistory(t, c, run, session)
		}
	}
}

// writeHistory writes the history of a workflow for TestReplay.
func writeHistory(t *testing.T, c client.Client, run client.WorkflowRun, name string) {
	t.Helper()
	all := &history.History{}
	for events := c.GetWorkflowHistory(t.Context(), run.GetID(), run.GetRunID(), false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT); events.HasNext(); {
		e, err := events.Next()
		if err != nil {
			t.Fatal(err)
		}
		all.Events = append(all.Events, e)
	}
	text, err := temporalproto.CustomJSONMarshalOptions{Indent: " "}.Marshal(all)
	host, _ := os.Hostname() // is in the name of the worker's own task queue
	text = bytes.ReplaceAll(text, []byte(host+":"), []byte("worker:"))
	if err = cmp.Or(err, os.MkdirAll("testdata", 0o755)); err == nil {
		err = os.WriteFile(filepath.Join("testdata", name+".json"), text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}
