package mcp

import (
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/mcpnames"
)

func TestParse(t *testing.T) {
	t.Parallel()
	getenv := func(name string) string {
		return map[string]string{"TOKEN": "t0ken", "DIR": "/d", "EMPTY": ""}[name]
	}
	got, err := Parse([]byte(`{"mcpServers":{"a":{"command":"${DIR}/run","args":["--x=${NOTHING:-y z}","$HOME","${EMPTY:-e}"],"env":{"K":"${TOKEN}"},"timeout":5000,"autoApprove":["x"]},
		"b":{"type":"http","url":"https://${HOST:-h.example}/mcp","headers":{"Authorization":"Bearer ${TOKEN}"}},"c":{"type":"streamable-http","url":"http://x"},"d":{"url":"http://x"}}}`), getenv)
	if err != nil {
		t.Fatal(err)
	}
	a, b := got["a"], got["b"]
	if a.Command != "/d/run" || strings.Join(a.Args, "|") != "--x=y z|$HOME|e" || a.Env["K"] != "t0ken" || a.TimeoutMS != 5000 || a.kind() != mcpnames.Stdio {
		t.Errorf("%+v", a)
	}
	if b.URL != "https://h.example/mcp" || b.Headers["Authorization"] != "Bearer t0ken" || got["c"].kind() != mcpnames.HTTP || got["d"].kind() != mcpnames.HTTP {
		t.Errorf("%+v", got)
	}
	for text, want := range map[string]string{
		`{"mcpServers":{"a":{"command":"${NOTHING}"}}}`: `the server "a": the variable NOTHING is not set; set it, or write ${NOTHING:-default}`,
		`{"a":{"command":5}}`:                           `the server "a"`,
		"{\n\n\"a\":{}":                                 "line 3",
		`[]`:                                            "cannot unmarshal array",
	} {
		if _, err := Parse([]byte(text), getenv); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	got, err = Parse([]byte(`{"a":{"command":"x"},"b":{"command":"${NOTHING}"},"c":{"args":5},"d":{"command":"y"}}`), getenv)
	if err == nil || len(got) != 2 || got["d"].Command != "y" || !strings.Contains(err.Error(), `"b"`) || !strings.Contains(err.Error(), `"c"`) {
		t.Errorf("%+v %v", got, err)
	}
	if got, err := Parse([]byte(`{"a":{"command":"x"}}`), getenv); err != nil || got["a"].Command != "x" {
		t.Errorf("%+v %v", got, err)
	}
}
