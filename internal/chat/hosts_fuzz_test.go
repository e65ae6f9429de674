package chat

import (
	"encoding/json"
	"testing"

	"github.com/openagent-go/agent/internal/wire/wiretest"
	"github.com/openagent-go/agent/llm"
)

// hostile are replies with what the hosts do differently: reasoning in its several
// members, signatures beside calls, whole calls at once, content in lists, calls of no
// name, blocking replies where a stream was asked for.
var hostile = []string{
	framed(delta(`{"reasoning_content":"hm"}`, "null"), say("a"), calls(`{"index":0,"id":"c","function":{"name":"read","arguments":"{}"}}`), delta(`{}`, `"tool_calls"`)) + done,
	framed(delta(`{"reasoning":"hm","reasoning_details":[{"type":"reasoning.encrypted","data":"x","format":"f","index":0}]}`, "null"), say("a"), delta(`{}`, `"stop"`)) + done,
	framed(calls(`{"index":0,"id":"function-call-1","extra_content":{"google":{"thought_signature":"s"}},"function":{"name":"read","arguments":"{\"a\":1}"}}`), delta(`{}`, `"stop"`)) + done,
	framed(delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"}]}`, `"stop"`)) + done,
	framed(calls(`{"id":"","function":{"name":"","arguments":""}},{"index":7,"id":"x y","function":{"name":"a b","arguments":"{"}}`), delta(`{}`, `"length"`)) + done,
	framed(`{"choices":[{"index":0,"delta":{"content":null,"refusal":"no"},"finish_reason":"content_filter"}],"usage":{"prompt_tokens":-1,"completion_tokens":1e300}}`) + done,
	`{"id":"r","choices":[{"message":{"role":"assistant","content":"<think>hm</think>a","tool_calls":[{"id":"c","type":"function","function":{"name":"read","arguments":{"a":1}}}]},"finish_reason":"stop"}]}`,
}

// FuzzHosts checks that no reply makes a client with the profile of any host panic,
// that the way the bytes arrive makes no difference, and that what comes of it can be
// sent back to the host by its strict rules.
func FuzzHosts(f *testing.F) {
	for i := range strictHosts {
		f.Add(uint8(i), hostile[i%len(hostile)])
	}
	for i, body := range hostile {
		f.Add(uint8(3*i), body)
	}
	f.Fuzz(func(t *testing.T, which uint8, body string) {
		h := strictHosts[int(which)%len(strictHosts)]
		p, name := profileNamed(t, h.profile), h.models[int(which)%len(h.models)]
		var got *llm.Response
		wiretest.SamePieces(t, func(size int) (*llm.Response, error) {
			c := &Client{APIKey: "k", BaseURL: "http://localhost", Profile: p, HTTP: wiretest.Replay(events, body, size, nil)}
			res, err := collect(t, c.Model(name), &request)
			if res != nil {
				got = res
			}
			return res, err
		})
		if got == nil {
			return
		}
		stored, err := json.Marshal(got.Message)
		if err != nil {
			t.Fatal(err)
		}
		var again llm.Message
		if err := json.Unmarshal(stored, &again); err != nil {
			t.Fatal(err)
		}
		req := &llm.Request{Messages: wiretest.Next(again), Tools: []llm.Tool{{Name: "read", Description: "reads"}}, MaxTokens: 1000}
		lawful(t, bodyOf(t, p, name, req), h.host)
	})
}
