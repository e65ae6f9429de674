package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tools"
	"github.com/openagent-go/agent/workspace"
)

// Commands get the environment values of a workspace, but outputs do not contain them:
// neither the model nor the journal sees them, whatever the variable's name.
func TestWorkspaceEnvIsSecret(t *testing.T) {
	const value, passed = "shh-very-secret-1", "handed-down-secret"
	t.Setenv("OUR_TOKEN", passed)
	for _, name := range []string{"MYVAR", "DB_DSN", "MY_TOKEN"} {
		ws := &workspace.Workspace{Root: t.TempDir(), Env: map[string]string{name: value}, Pass: []string{"OUR_TOKEN"}}
		store := session.Memory()
		line := fmt.Sprintf(`echo "$%s"; echo "$OUR_TOKEN" >&2; [ "$%[1]s$OUR_TOKEN" = %q"-1"%q ] && echo both`, name, strings.TrimSuffix(value, "-1"), passed)
		m := llmtest.Script(llmtest.Call(call("Bash", map[string]string{"command": line})), llmtest.Say("done"))
		_, err := (&agent.Agent{Model: m, Tools: tools.Core(ws), Permissions: bypass, Dir: ws.Root, Sessions: store}).Session("s").Prompt(t.Context(), "go")
		if err != nil {
			t.Fatal(err)
		}
		if err := ws.Close(); err != nil {
			t.Error(err)
		}
		if got := results(m)[0]; !strings.Contains(got, "both") || strings.Contains(got, value) || strings.Contains(got, passed) {
			t.Errorf("%s: the model sees %s", name, got)
		}
		for r, err := range store.Read(t.Context(), "s", 0) {
			if err != nil {
				t.Fatal(err)
			}
			if text, err := json.Marshal(r); err != nil || strings.Contains(string(text), value) {
				t.Errorf("%s: the journal holds %s, %v", name, text, err)
			}
		}
	}
}
