package llmtest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/strictapi"
	"github.com/openagent-go/agent/llm"
)

const responsesHello = `{"role":"user","content":"hello"}`

// responsesOf returns a Responses request that is right but for what is given.
func responsesOf(items string, more ...string) string {
	if items == "" {
		items = responsesHello
	}
	all := strings.Join(append([]string{`"input":[` + items + `],"store":false`}, more...), ",")
	if !strings.Contains(all, `"model":`) {
		all += `,"model":"gpt-4.1"`
	}
	return "{" + all + "}"
}

func functionCall(id string) string {
	return fmt.Sprintf(`{"type":"function_call","call_id":%q,"name":"f","arguments":"{}"}`, id)
}

func functionOutput(id string) string {
	return fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":"x"}`, id)
}

func reasoningOf(id, more string) string {
	return fmt.Sprintf(`{"type":"reasoning","id":%q%s}`, id, more)
}

// responsesCases has for each rule requests that break it and no other.
func responsesCases() []ruleCase {
	talk := func(list ...string) string { return responsesOf(responsesHello + "," + strings.Join(list, ",")) }
	tool := func(t string) string { return responsesOf("", `"tools":[`+t+`]`) }
	good := `{"type":"function","name":"f","strict":false,"parameters":{"type":"object"}}`
	long := strings.Repeat("x", 65)
	full := `,"summary":[],"encrypted_content":"abc"`
	said := `{"role":"assistant","content":"b"}`
	many := strings.Repeat(good+",", 128) + good
	for i := range 129 {
		many = strings.Replace(many, `"f"`, fmt.Sprintf(`"g%d"`, i), 1)
	}
	return []ruleCase{
		{"R00", `{`},
		{"R01", `[]`},
		{"R01", `{"model":"gpt-4.1"}`},
		{"R01", `{"input":"hello"}`},
		{"R01", `{"model":"gpt-4.1","input":[]}`},
		{"R02", responsesOf("", `"stop":["x"]`)},
		{"R02", responsesOf("", `"messages":[]`)},
		{"R03", talk(`{"type":"tool_use"}`)},
		{"R04", talk(functionCall("a"))},
		{"R05", talk(functionOutput("a"))},
		{"R05", talk(functionOutput("a"), functionCall("b"), functionOutput("b"))},
		{"R06", talk(functionCall(long), functionOutput(long))},
		{"R06", talk(functionCall(""))},
		{"R07", talk(functionCall("a"), functionCall("a"), functionOutput("a"))},
		{"R07", talk(functionCall("a"), functionOutput("a"), functionOutput("a"))},
		{"R08", talk(reasoningOf("rs_1", full))},
		{"R08", talk(reasoningOf("rs_1", full), responsesHello)},
		{"R09", talk(reasoningOf("rs_1", `,"summary":[]`), said)},
		{"R09", talk(`{"type":"item_reference","id":"rs_1"}`)},
		{"R10", talk(reasoningOf("rs_1", `,"encrypted_content":"abc"`), said)},
		{"R11", talk(reasoningOf("rs_1", `,"summary":[{"type":"summary_text","text":"changed"}],"encrypted_content":"`+strictapi.Sign("original")+`"`), said)},
		{"R12", talk(reasoningOf("item_1", full), said)},
		{"R12", talk(`{"id":"x1","type":"message","role":"assistant","content":"b"}`)},
		{"R13", talk(reasoningOf("rs_1", full), said, reasoningOf("rs_1", full), said)},
		{"R14", talk(`{"role":"tool","content":"x"}`)},
		{"R15", talk(`{"role":"assistant","content":[{"type":"input_text","text":"x"}]}`)},
		{"R15", talk(`{"role":"user","content":[{"type":"output_text","text":"x"}]}`)},
		{"R15", talk(`{"role":"user","content":[{"type":"text","text":"x"}]}`)},
		{"R16", talk(`{"role":"user","content":""}`)},
		{"R16", talk(`{"role":"user","content":[]}`)},
		{"R16", talk(`{"role":"user","content":[{"type":"input_text","text":""}]}`)},
		{"R17", talk(`{"type":"function_call","call_id":"a","name":"f","arguments":{}}`, functionOutput("a"))},
		{"R18", talk(functionCall("a"), `{"type":"function_call_output","call_id":"a","output":{"x":1}}`)},
		{"R19", tool(`{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}`)},
		{"R19", tool(`{"name":"f"}`)},
		{"R20", tool(strings.Replace(good, `"f"`, `"a.b"`, 1))},
		{"R20", tool(good + "," + good)},
		{"R21", tool(`{"type":"function","name":"f","strict":false}`)},
		{"R22", tool(strings.Replace(good, `"strict":false,`, ``, 1))},
		{"R22", tool(`{"type":"function","name":"f","parameters":{"type":"object","properties":{"a":{}},"additionalProperties":false}}`)},
		{"R23", tool(many)},
		{"R24", responsesOf("", `"tool_choice":{"type":"function","name":"f"}`)},
		{"R24", responsesOf("", `"tool_choice":"required"`)},
		{"R25", responsesOf("", `"max_output_tokens":5`)},
		{"R26", responsesOf("", `"model":"gpt-5.2","temperature":0`)},
		{"R27", responsesOf("", `"reasoning":{"effort":"low"}`)},
		{"R27", responsesOf("", `"include":["reasoning.encrypted_content"]`)},
		{"R28", talk(`{"role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,AAAA"}]}`)},
		{"R28", talk(`{"role":"user","content":[{"type":"input_file","file_data":"data:application/pdf;base64,AAAA"}]}`)},
		{"R29", talk(`{"role":"assistant","content":"b","phase":"thinking"}`)},
		{"R29", talk(`{"role":"user","content":"b","phase":"commentary"}`)},
		{"R30", responsesOf("", `"prompt_cache_key":"`+long+`"`)},
		{"R31", responsesOf("", `"text":{"format":{"type":"json_schema","schema":{}}}`)},
	}
}

func TestGoodResponsesRequestsPass(t *testing.T) {
	signed := reasoningOf("rs_1", `,"summary":[{"type":"summary_text","text":"a"},{"type":"summary_text","text":"b"}],"encrypted_content":"`+strictapi.Sign("a\n\nb")+`"`)
	for name, body := range map[string]string{
		"a text":          `{"model":"gpt-5","input":"hello"}`,
		"calls at once":   responsesOf(responsesHello + "," + signed + "," + functionCall("a") + "," + functionCall("b") + "," + functionOutput("b") + "," + functionOutput("a")),
		"an output parts": responsesOf(functionCall("a") + `,{"type":"function_call_output","call_id":"a","output":[{"type":"input_text","text":"x"}]}`),
		"stored":          `{"model":"gpt-5","input":[` + responsesHello + `,{"type":"item_reference","id":"rs_1"}]}`,
		"search":          responsesOf(responsesHello+`,{"type":"web_search_call","id":"ws_1","status":"completed"},{"role":"assistant","content":[{"type":"output_text","text":"x","annotations":[]}],"phase":"final_answer"}`, `"tools":[{"type":"web_search"}],"tool_choice":"required"`),
		"strict":          responsesOf("", `"tools":[{"type":"function","name":"f","parameters":{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}}]`),
	} {
		if got := strictapi.CheckResponses([]byte(body)); got != nil {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestResponsesServer reads back what a strict server was sent.
func TestResponsesServer(t *testing.T) {
	r := &Request{}
	v, err := strictapi.Parse([]byte(`{"model":"gpt-5","instructions":"be","store":false,"max_output_tokens":99,"reasoning":{"effort":"low"},"tool_choice":{"type":"function","name":"f"},
		"tools":[{"type":"function","name":"f","description":"d","parameters":{"type":"object"},"strict":false},{"type":"web_search"}],
		"input":[{"role":"developer","content":"good"},{"role":"user","content":[{"type":"input_text","text":"q"},{"type":"input_image","image_url":"data:image/png;base64,iVBORw0KGgo="}]},
		{"type":"reasoning","summary":[{"text":"hm"}],"encrypted_content":"e"},{"role":"assistant","content":"a"},{"type":"function_call","call_id":"1","name":"f","arguments":"{"},
		{"type":"function_call_output","call_id":"1","output":"o"},{"type":"web_search_call"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	responsesWire{}.read(r, strictapi.ObjectOf(v))
	if r.System != "be\n\ngood" || r.MaxTokens != 99 || r.Thinking.Effort != "low" || r.ToolChoice.Name != "f" || len(r.Tools) != 1 || r.Prompt() != "q" {
		t.Errorf("got %+v", r)
	}
	if len(r.Messages) != 4 || len(r.Messages[1].Content) != 3 || r.Messages[1].ToolUses()[0].Invalid != "{" || r.AllResults()[0].Text != "o" {
		t.Errorf("got %+v", r.Messages)
	}
	if v, ok := r.Messages[3].Content[0].(llm.Verbatim); !ok || v.Provider != "openai-responses" {
		t.Errorf("got %+v", r.Messages[3])
	}
}
