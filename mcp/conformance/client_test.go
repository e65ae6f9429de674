package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/mcpnames"
	"github.com/openagent-go/agent/internal/toolhost"
	"github.com/openagent-go/agent/mcp"
	"github.com/openagent-go/agent/mcp/oauth"
	"github.com/openagent-go/agent/tool"
)

// The suite starts the client under test with the URL of its server, and says in
// the environment what the client is to do there.
const (
	scenarioVar = "MCP_CONFORMANCE_SCENARIO"
	contextVar  = "MCP_CONFORMANCE_CONTEXT"

	logins   = 2                // that the client tries
	patience = 25 * time.Second // a machine may be busy
)

func TestMain(m *testing.M) {
	if scenario := os.Getenv(scenarioVar); scenario != "" {
		if err := play(scenario, os.Args[len(os.Args)-1]); err != nil {
			log.Fatal(err)
		}
		return
	}
	os.Exit(m.Run())
}

// A brief is what the suite tells the client beside the scenario's name.
type brief struct {
	ClientID     string `json:"client_id"`
	ClientSecret string `json:"client_secret"`
	ToolCalls    []struct {
		Name      string
		Arguments json.RawMessage
	}
}

// play is our client in a scenario.
func play(scenario, url string) error {
	var b brief
	if text := os.Getenv(contextVar); text != "" {
		if err := json.Unmarshal([]byte(text), &b); err != nil {
			return err
		}
	}
	ctx := toolhost.WithHost(context.Background(), agreeing{})
	c := mcp.Config{URL: url, AlwaysLoad: true}
	if strings.HasPrefix(scenario, "auth/") {
		c.OAuth = &oauth.Config{ClientID: b.ClientID, ClientSecret: b.ClientSecret, ClientMetadataURL: "https://conformance-test.local/client-metadata.json"}
	}
	moved := make(chan mcp.Status, 100)
	all := mcp.New(map[string]mcp.Config{"s": c}, mcp.Options{Changed: func(st mcp.Status) { moved <- st }, Login: func(ctx context.Context, _, page string) (string, error) { return follow(ctx, page) }})
	defer all.Close()
	all.Start()
	if err := settled(moved); err != nil {
		return err
	}
	tools, err := all.Tools(ctx)
	if err != nil {
		return err
	}
	inputs := map[string]string{"add_numbers": `{"a":5,"b":3}`}
	if b.ToolCalls != nil {
		for _, call := range b.ToolCalls {
			if t := find(tools, call.Name); t != nil {
				run := tool.Call{Input: call.Arguments}
				if _, err := t.Run(ctx, run); err != nil {
					return err
				}
			}
		}
	} else if scenario != "initialize" && scenario != "request-metadata" && scenario != "json-schema-ref-no-deref" {
		for _, t := range tools {
			name := strings.TrimPrefix(t.Spec().Name, "mcp__s__")
			input := inputs[name]
			if input == "" {
				input = "{}"
			}
			if strings.HasPrefix(scenario, "http-invalid") {
				input = `{"region":"us-west1"}`
			}
			r, err := t.Run(ctx, tool.Call{Input: json.RawMessage(input)})
			if err != nil {
				log.Print(err)
			} else if r.IsError {
				log.Print(r.Text())
				if strings.HasPrefix(scenario, "auth/") {
					return errors.New(r.Text())
				}
			}
		}
	}
	if scenario == "http-standard-headers" {
		return readAll(ctx, all)
	}
	return nil
}

func (agreeing) Sample(context.Context, toolhost.Sampling) (toolhost.Sampled, error) {
	return toolhost.Sampled{}, toolhost.ErrDeclined
}

// agreeing is a person who agrees to all and fills in only what has no default.
type agreeing struct{}

func (agreeing) Elicit(_ context.Context, e toolhost.Elicitation) toolhost.Elicited {
	content := json.RawMessage("{}")
	if strings.Contains(string(e.Schema), `"confirmed"`) {
		content = json.RawMessage(`{"confirmed":true}`)
	}
	return toolhost.Elicited{Action: toolhost.Accepted, Content: content}
}

// settled waits for a connection, which a login may precede.
func settled(moved <-chan mcp.Status) error {
	patience := time.After(patience)
	var last mcp.Status
	for refused := 0; ; {
		select {
		case last = <-moved:
		case <-patience:
			return fmt.Errorf("still %s: %s", last.State, last.Error)
		}
		if last.State == mcpnames.NeedsAuth {
			refused++
		}
		switch {
		case last.State == mcpnames.Connected:
			return nil
		case refused > logins:
			return errors.New(last.Error)
		case last.State == mcpnames.Failed, last.State == mcpnames.Pending && last.Error != "", last.State == mcpnames.NeedsAuth && strings.Contains(last.Error, "logging in"):
			return errors.New(last.Error)
		}
	}
}

func find(tools []tool.Tool, name string) tool.Tool {
	for _, t := range tools {
		if t.Spec().Name == "mcp__s__"+name {
			return t
		}
	}
	return nil
}

// readAll reads resources and prompts, so that the suite sees such requests.
func readAll(ctx context.Context, all *mcp.Servers) error {
	resources, err := all.Resources(ctx, "s")
	if err != nil {
		return err
	}
	for _, r := range resources {
		if _, err := all.ReadResource(ctx, "s", r.URI); err != nil {
			return err
		}
	}
	for _, p := range all.Prompts() {
		if _, err := all.Prompt(ctx, p.Name, ""); err != nil {
			return err
		}
	}
	return nil
}

// follow is a person who agrees: the suite's authorization server asks for nothing
// and redirects at once.
func follow(ctx context.Context, page string) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, page, nil)
	if err != nil {
		return "", err
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	to := resp.Header.Get("Location")
	if to == "" {
		return "", fmt.Errorf("the page answered %s", resp.Status)
	}
	return to, nil
}

// The client passes all that two versions of the protocol require; of what is not
// scored, what the baseline does not name.
func TestClient(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for version, want := range map[string]int{"2025-11-25": 18, "2026-07-28": 32} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			out := run(t, "client", "--command", self, "--requirements", version, "--timeout", "120000")
			if n := len(passed.FindAllString(out, -1)); n != want {
				t.Errorf("%d scenarios passed, not %d:\n%s", n, want, out)
			}
		})
	}
}
