package agent_test

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/httptape"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/tool"
)

// A recorded run is replayed without the server. A change of the agent's requests is
// noticed.
func TestReplayedRun(t *testing.T) {
	for _, p := range providers {
		t.Run(p.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "run.json")
			server := llmtest.NewServer(t, llmtest.Step{Text: said, Calls: []llm.ToolUse{llmtest.Use("", "double", number{21})}}, say(done))
			run := func(client *http.Client, system string) (*agent.Result, error) {
				a := &agent.Agent{Model: p.model(server.URL, client), System: system, Tools: []tool.Tool{double}, Retry: &agent.Retry{Tries: -1}}
				return a.Prompt(t.Context(), "go")
			}
			recorder := &httptape.Recorder{Transport: new(http.Transport)}
			if res, err := run(&http.Client{Transport: recorder}, "Be brief."); err != nil || res.Text != done {
				t.Fatalf("%+v, %v", res, err)
			}
			if err := recorder.Save(file); err != nil {
				t.Fatal(err)
			}
			server.Close()
			if res, err := run(llmtest.Replay(t, file, nil), "Be brief."); err != nil || res.Text != done || res.Turns != 2 {
				t.Errorf("%+v, %v", res, err)
			}
			changed, err := httptape.Open(file)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := run(&http.Client{Transport: changed}, "Be verbose."); err == nil || changed.Err() == nil {
				t.Errorf("%v, %v", err, changed.Err())
			}
		})
	}
}
