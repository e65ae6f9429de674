package streamjson

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/settings"
)

// silent is an IO without input.
func silent(out io.Writer) *cli.IO {
	return &cli.IO{In: strings.NewReader(""), Out: out, Err: io.Discard, Getenv: func(string) string { return "" }}
}

// What a host says wrongly, or what this program does not know, is an error and never a guess.
func TestHostOfNonsense(t *testing.T) {
	for request, want := range map[string]string{
		`7`:                            "must be an object, not number",
		`{"hooks":[]}`:                 "hooks must be an object",
		`{"hooks":{"PreToolUse":"x"}}`: "must be a list",
		`{"hooks":{"PreToolUse":[{"hookCallbackIds":"h"}]}}`:                         "must be a list",
		`{"hooks":{"PreToolUse":[{"hookCallbackIds":["h"],"timeout":-1}]}}`:          "timeout",
		`{"hooks":{"PreToolUse":[{"hookCallbackIds":["h"],"matcher":"("}]}}`:         "matcher",
		`{"hooks":{"PreToolUse":[{"hookCallbackIds":["h"],"onFailure":"explode"}]}}`: "onFailure",
		`{"hooks":{"PreToolUse":[{"callbackIds":["h"]}]}}`:                           "hookCallbackIds",
		`{"hooks":{"PreSkillShellCommand":[{"hookCallbackIds":["h"]}]}}`:             "PreSkillShellCommand",
		`{"systemPrompt":[7]}`:     "systemPrompt",
		`{"systemPrompt":{"a":1}}`: "systemPrompt",
		`{"sdkMcpServers":[""]}`:   "sdkMcpServers",
		`{"sdkMcpServers":["m"],"sdkMcpServerConfigs":{"m":{"tools":[{"name":"x)("}]}}}`: "sdkMcpServerConfigs",
		`{"plugins":[{"type":"npm","path":"x"}]}`:                                        "plugins",
		`{"disallowedTools":{"a":1}}`:                                                    "disallowedTools",
		`{"jsonSchema":{"type":7}}`:                                                      "jsonSchema",
	} {
		_, err := (&Session{H: silent(io.Discard)}).hostOf(json.RawMessage(request), &settings.Options{})
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "struct") {
			t.Errorf("%s: %v, want %q", request, err, want)
		}
	}
	host, err := (&Session{H: silent(io.Discard)}).hostOf(json.RawMessage(`{"subtype":"initialize","hooks":null,"agents":{},"promptSuggestions":true,"systemPrompt":[""],"later":null,
		"sdkMcpServers":["m"],"sdkMcpServerConfigs":{"m":{"timeout":5000,"tools":[{"name":"x","permission_policy":"always_deny"},{"name":"y","permission_policy":"always_ask"}]}}}`), &settings.Options{})
	if err != nil || !host.Minimal || host.Servers["m"].MaxTimeMS != 5000 || len(host.Deny) != 1 || host.Deny[0] != "mcp__m__x" || len(host.Ask) != 1 {
		t.Errorf("%+v, %v", host, err)
	}
}

func FuzzHost(f *testing.F) {
	for _, seed := range []string{`{}`, `{"hooks":{"Stop":[{"hookCallbackIds":["a"],"timeout":1e300}]}}`, `{"agents":[]}`, `{"systemPrompt":"x"}`, `{"skills":["a"]}`, `[`, `{"sdkMcpServers":[""]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, request []byte) {
		host, err := (&Session{H: silent(io.Discard)}).hostOf(request, &settings.Options{})
		if err == nil && host == nil {
			t.Fatal("neither a host nor an error")
		}
		for _, h := range hooksIn(host) {
			if h <= 0 || h > maxHookTimeout+hookGrace {
				t.Fatalf("a hook has the timeout %v", h)
			}
		}
	})
}

// A request ends with its context, with an answer, or when the host is gone.
func TestRequestsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		d := New(silent(&out))
		ended := make(chan error, 1)
		go func() {
			_, err := d.request(t.Context(), map[string]string{"subtype": "x"}, true)
			ended <- err
		}()
		synctest.Wait()
		d.requests.answer(replyEnvelope{ID: "another", Subtype: "success"})
		d.requests.close()
		if err := <-ended; err == nil {
			t.Error("a request without a host has an answer")
		}
		d.requests.rest()
		if err := d.out.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

func hooksIn(k *app.Host) (list []time.Duration) {
	if k == nil {
		return nil
	}
	for _, h := range k.Hooks {
		list = append(list, h.Timeout)
	}
	return list
}
