package llmtest

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/strictapi"
)

const (
	askTool  = `{"role":"user","content":"add"},{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"add","input":{}}]}`
	answered = askTool + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"4"}]}`
	withTool = `"tools":[{"name":"add","input_schema":{"type":"object"}}]`
	thinking = `"thinking":{"type":"enabled","budget_tokens":1024}`
	mark     = `"cache_control":{"type":"ephemeral"}`
)

// messages returns a Messages request that is right but for what is given:
// its messages (default: one question) and further fields.
func messages(list string, more ...string) string {
	if list == "" {
		list = `{"role":"user","content":"hello"}`
	}
	fields := append([]string{`"messages":[` + list + `]`}, more...)
	all := strings.Join(fields, ",")
	for name, value := range map[string]string{"model": `"claude-sonnet-4-20250514"`, "max_tokens": "2000"} {
		if !strings.Contains(all, `"`+name+`":`) {
			all += `,"` + name + `":` + value
		}
	}
	return "{" + all + "}"
}

// pngOf returns the first bytes of a PNG of that size, in base64.
func pngOf(width, height uint32) string {
	head := []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	head = binary.BigEndian.AppendUint32(head, width)
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(head, height))
}

func imageOf(media, data string) string {
	return fmt.Sprintf(`{"type":"image","source":{"type":"base64","media_type":%q,"data":%q}}`, media, data)
}

func user(blocks ...string) string {
	return `{"role":"user","content":[` + strings.Join(blocks, ",") + `]}`
}

func assistant(blocks ...string) string {
	return `{"role":"assistant","content":[` + strings.Join(blocks, ",") + `]}`
}

func textBlock(s string) string { return fmt.Sprintf(`{"type":"text","text":%q}`, s) }

func systemOf(blocks ...string) string { return `"system":[` + strings.Join(blocks, ",") + `]` }

func use(id, name, input string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, id, name, input)
}

func result(id, content string) string {
	return fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":%q}`, id, content)
}

const hello = `{"role":"user","content":"hello"}`

type ruleCase struct{ rule, body string }

// anthropicCases has for each rule requests that break it and no other.
func anthropicCases() []ruleCase {
	turn := func(blocks string) string { return hello + "," + blocks }
	marked := `{"type":"text","text":"a",` + mark + `}`
	long := `{"type":"text","text":"a","cache_control":{"type":"ephemeral","ttl":"1h"}}`
	many := strings.TrimSuffix(strings.Repeat(imageOf("image/png", pngOf(2001, 10))+",", 21), ",")
	return []ruleCase{
		{"A00", `{"model":`},
		{"A00", messages("") + "x"},
		{"A01", `[]`},
		{"A01", `{"model":"claude-sonnet-4-6","messages":[{"role":"user","content":"x"}]}`},
		{"A01", `{"max_tokens":9,"messages":[{"role":"user","content":"x"}]}`},
		{"A01", `{"max_tokens":9,"model":"m"}`},
		{"A01", `{"max_tokens":9,"model":"m","messages":"hello"}`},
		{"A02", messages("", `"seed":1`)},
		{"A02", messages(`{"role":"user","content":"hello","name":"bob"}`)},
		{"A02", messages(user(`{"type":"text","text":"a","id":"x"}`))},
		{"A02", messages(user(`{"type":"txt","text":"a"}`))},
		{"A02", messages(user(`{"type":"image","source":{"type":"url","url":"https://example.com/a.png","detail":"low"}}`))},
		{"A02", messages("", `"tools":[{"name":"add","input_schema":{"type":"object"},"annotations":{"readOnly":true}}]`)},
		{"A03", messages(" ")},
		{"A04", messages(`{"role":"system","content":"x"},` + hello)},
		{"A04", messages(hello + `,{"role":"tool","content":"x"}`)},
		{"A05", messages(`{"role":"assistant","content":"a"},` + hello)},
		{"A06", messages(hello + "," + hello)},
		{"A07", messages(hello + `,{"role":"assistant","content":[]},` + hello)},
		{"A07", messages(`{"role":"user","content":""}`)},
		{"A07", messages(`{"role":"user"}`)},
		{"A07", messages(`{"role":"user","content":7}`)},
		{"A07", messages(user(`{"type":"text"}`))},
		{"A08", messages(user(textBlock("")))},
		{"A08", messages(askTool+","+user(`{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":""}]}`), withTool)},
		{"A08", messages("", systemOf(textBlock("")))},
		{"A09", messages(user(textBlock(" \n")))},
		{"A09", messages(`{"role":"user","content":"\t"}`)},
		{"A10", messages(user(use("t1", "add", "{}")), withTool)},
		{"A10", messages(turn(assistant(result("t1", "x"))), withTool)},
		{"A11", messages(turn(assistant(use("functions.add:0", "add", "{}"))+","+user(result("functions.add:0", "4"))), withTool)},
		{"A12", messages(turn(assistant(use("t1", "a.b", "{}"))+","+user(result("t1", "4"))), withTool)},
		{"A13", messages(turn(assistant(use("t1", "add", `"{}"`))+","+user(result("t1", "4"))), withTool)},
		{"A14", messages(answered+","+strings.TrimPrefix(answered, `{"role":"user","content":"add"},`), withTool)},
		{"A15", messages(askTool+`,{"role":"user","content":"no"}`, withTool)},
		{"A15", messages(askTool, withTool)},
		{"A16", messages(askTool+","+user(textBlock("here:"), result("t1", "4")), withTool)},
		{"A17", messages(askTool+","+user(result("t1", "4"), result("t1", "5")), withTool)},
		{"A18", messages(askTool+","+user(`{"type":"tool_result","tool_use_id":"t1","is_error":true}`), withTool)},
		{"A18", messages(askTool+","+user(`{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":""}],"is_error":true}`), withTool)},
		{"A19", messages(user(result("t1", "4")), withTool)},
		{"A19", messages(answered+","+assistant(textBlock("so"))+","+user(result("t1", "4")), withTool)},
		{"A20", messages(turn(assistant(`{"type":"server_tool_use","id":"s1","name":"web_search","input":{}}`, textBlock("x")) + "," + hello))},
		{"A21", messages(answered)},
		{"A22", messages(turn(`{"role":"assistant","content":"The "}`))},
		{"A23", messages(turn(`{"role":"assistant","content":"The"}`), `"model":"claude-opus-4-6"`)},
		{"A23", messages(turn(`{"role":"assistant","content":"The"}`), thinking)},
		{"A24", messages("", `"thinking":{"type":"enabled","budget_tokens":1000}`)},
		{"A24", messages("", `"thinking":{"type":"enabled"}`)},
		{"A25", messages("", thinking, `"max_tokens":1024`)},
		{"A26", messages("", thinking, `"temperature":0`)},
		{"A27", messages("", thinking, `"top_k":5`)},
		{"A27", messages("", thinking, `"top_p":0.5`)},
		{"A28", messages("", thinking, withTool, `"tool_choice":{"type":"any"}`)},
		{"A29", messages(answered, withTool, thinking)},
		{"A30", messages(turn(assistant(`{"type":"thinking","thinking":"changed","signature":"`+strictapi.Sign("original")+`"}`, use("t1", "add", "{}"))+","+user(result("t1", "4"))), withTool, thinking)},
		{"A31", messages(turn(assistant(`{"type":"thinking","thinking":"hm"}`, use("t1", "add", "{}"))+","+user(result("t1", "4"))), withTool, thinking)},
		{"A32", messages(turn(assistant(`{"type":"thinking","thinking":"changed","signature":"`+strictapi.Sign("original")+`"}`, textBlock("a"))+","+hello+","+assistant(textBlock("b"))+","+hello), thinking)},
		{"A33", messages(turn(assistant(`{"type":"thinking","thinking":"t","signature":"s"}`, textBlock("a"))))},
		{"A34", messages("", thinking, `"model":"claude-opus-4-7"`)},
		{"A34", messages("", thinking, `"model":"claude-sonnet-5"`)},
		{"A35", messages("", `"temperature":0.2,"model":"claude-opus-4-8"`)},
		{"A35", messages("", `"temperature":0.2,"top_p":0.9,"model":"claude-haiku-4-5-20251001"`)},
		{"A35", messages("", `"temperature":0.2,"top_p":0.9,"model":"claude-opus-4-1"`)},
		{"A36", messages("", withTool, `"tool_choice":{"type":"tool","name":"add"},"model":"claude-opus-5-5"`)},
		{"A37", messages("", systemOf(marked, marked, marked, marked, marked))},
		{"A38", messages("", systemOf(`{"type":"text","text":"",`+mark+`}`))},
		{"A39", messages(turn(assistant(`{"type":"thinking","thinking":"t","signature":"s",`+mark+`}`, use("t1", "add", "{}"))+","+user(result("t1", "4"))), withTool, thinking)},
		{"A40", messages("", `"tools":[{"name":"a.b","input_schema":{"type":"object"}}]`)},
		{"A40", messages("", `"tools":[{"name":"`+strings.Repeat("a", 129)+`","input_schema":{"type":"object"}}]`)},
		{"A41", messages("", `"tools":[{"name":"a","input_schema":{"type":"object"}},{"name":"a","input_schema":{"type":"object"}}]`)},
		{"A42", messages("", `"tools":[{"name":"a","input_schema":{"type":"object","anyOf":[]}}]`)},
		{"A42", messages("", `"tools":[{"name":"a","input_schema":{}}]`)},
		{"A42", messages("", `"tools":[{"name":"a","input_schema":{"type":"string"}}]`)},
		{"A42", messages("", `"tools":[{"name":"a"}]`)},
		{"A43", messages("", `"tools":[{"type":"web_search","name":"a"}]`)},
		{"A44", messages("", withTool, `"tool_choice":{"type":"tool","name":"subtract"}`)},
		{"A44", messages("", `"tool_choice":{"type":"auto"}`)},
		{"A45", messages("", systemOf(marked, long))},
		{"A46", messages(user(imageOf("image/jpeg", pngOf(2, 2))))},
		{"A46", messages(user(imageOf("image/png", "####")))},
		{"A46", messages(user(imageOf("image/png", "aGVsbG8=")))},
		{"A46", messages(user(imageOf("image/tiff", pngOf(2, 2))))},
		{"A46", messages(askTool+","+user(`{"type":"tool_result","tool_use_id":"t1","content":[`+imageOf("image/gif", pngOf(2, 2))+`]}`), withTool)},
		{"A47", messages(user(imageOf("image/png", strings.Repeat("A", strictapi.MaxImage+4))))},
		{"A48", messages(user(imageOf("image/png", pngOf(9000, 10))))},
		{"A48", messages(user(many))},
		{"A49", messages("", `"max_tokens":-1`)},
		{"A49", messages("", `"max_tokens":1.5`)},
		{"A49", messages("", `"max_tokens":true`)},
		{"A50", messages("", `"stop_sequences":["\n"]`)},
		{"A51", messages("", `"temperature":1.5`)},
	}
}

const (
	openaiHello = `{"role":"user","content":"hello"}`
	openaiTool  = `"tools":[{"type":"function","function":{"name":"f"}}]`
)

func completions(list string, more ...string) string {
	if list == "" {
		list = openaiHello
	}
	all := strings.Join(append([]string{`"messages":[` + list + `]`}, more...), ",")
	if !strings.Contains(all, `"model":`) {
		all += `,"model":"gpt-4o"`
	}
	return "{" + all + "}"
}

func callOf(ids ...string) string {
	var calls []string
	for _, id := range ids {
		calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"f","arguments":"{}"}}`, id))
	}
	return `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ",") + `]}`
}

func toolMessage(id string) string {
	return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"4"}`, id)
}

func functions(n int) string {
	var tools []string
	for i := range n {
		tools = append(tools, fmt.Sprintf(`{"type":"function","function":{"name":"f%d"}}`, i))
	}
	return `"tools":[` + strings.Join(tools, ",") + `]`
}

func function(f string) string { return `"tools":[{"type":"function","function":` + f + `}]` }

func openaiCases() []ruleCase {
	talk := func(list ...string) string { return completions(openaiHello + "," + strings.Join(list, ",")) }
	longID := strings.Repeat("x", 41)
	return []ruleCase{
		{"O00", `{`},
		{"O01", `"x"`},
		{"O01", `{"messages":[` + openaiHello + `]}`},
		{"O01", `{"model":"gpt-4o"}`},
		{"O02", `{"model":"gpt-4o","messages":[]}`},
		{"O03", talk(callOf("a", "b"), toolMessage("a"))},
		{"O03", talk(callOf("a"), openaiHello)},
		{"O04", completions(`{"role":"bot","content":"x"}`)},
		{"O05", talk(callOf("a"), toolMessage("a"), `{"role":"tool","content":"x"}`)},
		{"O06", talk(toolMessage("zz"))},
		{"O06", talk(callOf("a"), toolMessage("a"), openaiHello, toolMessage("a"))},
		{"O07", talk(callOf("a"), toolMessage("a"), toolMessage("a"))},
		{"O08", talk(callOf(longID), toolMessage(longID))},
		{"O09", completions(strings.Replace(callOf("a"), `"assistant","content":null`, `"user","content":"x"`, 1) + "," + toolMessage("a"))},
		{"O10", talk(`{"role":"assistant","content":"x","tool_calls":[]}`)},
		{"O11", talk(`{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f","arguments":"{}"}}]}`)},
		{"O11", talk(`{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}`, toolMessage("a"))},
		{"O12", talk(`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":{}}}]}`, toolMessage("a"))},
		{"O13", talk(`{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":""}}]}`, toolMessage("a"))},
		{"O14", completions(`{"role":"user","content":null}`)},
		{"O14", talk(`{"role":"assistant"}`)},
		{"O15", talk(callOf("a"), `{"role":"tool","tool_call_id":"a","content":[{"type":"image_url","image_url":{"url":"data:"}}]}`)},
		{"O16", completions("", `"tools":[]`)},
		{"O17", completions("", functions(129))},
		{"O18", completions("", `"tools":[{"function":{"name":"f"}}]`)},
		{"O19", completions("", function(`{"name":"a.b"}`))},
		{"O19", completions("", function(`{"name":"`+strings.Repeat("a", 65)+`"}`))},
		{"O19", completions("", function(`{}`))},
		{"O20", completions("", `"tools":[{"type":"function","function":{"name":"f"}},{"type":"function","function":{"name":"f"}}]`)},
		{"O21", completions("", function(`{"name":"f","parameters":{}}`))},
		{"O22", completions("", function(`{"name":"f","strict":true,"parameters":{"type":"object","properties":{}}}`))},
		{"O22", completions("", function(`{"name":"f","strict":true,"parameters":{"type":"object","properties":{"a":{}},"additionalProperties":false}}`))},
		{"O23", completions("", `"tool_choice":"auto"`)},
		{"O23", completions("", `"parallel_tool_calls":false`)},
		{"O24", completions("", `"stream_options":{"include_usage":true}`)},
		{"O25", completions("", `"model":"gpt-5","max_tokens":5`)},
		{"O25", completions("", `"max_tokens":5,"max_completion_tokens":5`)},
		{"O26", completions("", `"model":"o4-mini","temperature":0`)},
		{"O27", completions("", `"response_format":{"type":"json_object"}`)},
	}
}

func rulesOf(vs []strictapi.Violation) []string {
	var rules []string
	for _, v := range vs {
		rules = append(rules, v.Rule)
	}
	slices.Sort(rules)
	return slices.Compact(rules)
}

func TestEachRuleFires(t *testing.T) {
	for _, api := range []struct {
		check  func([]byte) []strictapi.Violation
		cases  []ruleCase
		prefix string
		last   int
	}{
		{strictapi.CheckAnthropic, anthropicCases(), "A", 51},
		{strictapi.CheckOpenAI, openaiCases(), "O", 27},
		{strictapi.CheckResponses, responsesCases(), "R", 31},
	} {
		seen := strictapi.Set{}
		for _, c := range api.cases {
			got := api.check([]byte(c.body))
			if rules := rulesOf(got); !slices.Equal(rules, []string{c.rule}) {
				t.Errorf("%s: got %v for %.300s", c.rule, got, c.body)
			}
			seen[c.rule] = true
		}
		for n := range api.last + 1 {
			if rule := fmt.Sprintf("%s%02d", api.prefix, n); !seen[rule] {
				t.Errorf("rule %s has no case", rule)
			}
		}
	}
}

func TestReasoningHosts(t *testing.T) {
	body := []byte(completions(openaiHello+","+callOf("a")+","+toolMessage("a"), openaiTool))
	kept := []byte(strings.Replace(string(body), `"content":null`, `"content":null,"reasoning_content":""`, 1))
	for _, host := range []strictapi.Host{strictapi.Kimi, strictapi.DeepSeek} {
		if got := rulesOf(strictapi.CheckHost(body, host)); !slices.Equal(got, []string{"O28"}) {
			t.Errorf("%s: got %v, want O28", host, got)
		}
		if got := strictapi.CheckHost(kept, host); got != nil {
			t.Errorf("%s: got %v for reasoning sent back", host, got)
		}
	}
	if got := strictapi.CheckHost(body, strictapi.Compatible); got != nil {
		t.Errorf("compatible: got %v", got)
	}
	old := []byte(completions("", `"model":"gpt-5","max_tokens":5,"temperature":0`))
	if got := strictapi.CheckHost(old, strictapi.Compatible); got != nil {
		t.Errorf("compatible host refuses max_tokens: %v", got)
	}
}

func TestGoodRequestsPass(t *testing.T) {
	for _, body := range []string{
		messages(""),
		messages(answered, withTool),
		messages(askTool+","+user(result("t1", "4"), textBlock("and now?")), withTool),
		messages(hello + `,{"role":"assistant","content":""}`),
		messages(hello + `,{"role":"assistant","content":"The"}`),
		messages("", `"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},"model":"claude-opus-4-8"`),
		messages(hello+","+assistant(`{"type":"thinking","thinking":"t","signature":"`+strictapi.Sign("t")+`"}`, use("t1", "add", "{}"))+","+user(result("t1", "4")), withTool, thinking),
		messages(user(imageOf("image/png", pngOf(8000, 8000)), textBlock("what is it?"))),
		messages("", `"max_tokens":0`),
		`{"anthropic_version":"bedrock-2023-05-31","max_tokens":9,"messages":[` + hello + `]}`,
		messages("", `"temperature":null,"tools":null,"system":"be brief","stream":true`),
	} {
		if got := strictapi.CheckAnthropic([]byte(body)); got != nil {
			t.Errorf("got %v for %s", got, body)
		}
	}
	for _, body := range []string{
		completions(""),
		completions(openaiHello+","+callOf("a", "b")+","+toolMessage("b")+","+toolMessage("a"), openaiTool),
		completions(`{"role":"system","content":"x"},`+openaiHello, `"stream":true,"stream_options":{"include_usage":true}`),
		completions("", functions(128)),
		completions("", function(`{"name":"f","strict":true,"parameters":{"type":"object","properties":{"a":{}},"required":["a"],"additionalProperties":false}}`)),
		completions(`{"role":"user","content":"as JSON"}`, `"response_format":{"type":"json_object"}`),
	} {
		if got := strictapi.CheckOpenAI([]byte(body)); got != nil {
			t.Errorf("got %v for %s", got, body)
		}
	}
}

func TestAbilities(t *testing.T) {
	for _, c := range []struct {
		model string
		want  strictapi.Ability
	}{
		{"claude-sonnet-4-20250514", strictapi.Ability{NoFormat: true}},
		{"claude-3-5-sonnet-20241022", strictapi.Ability{}},
		{"gpt-4o", strictapi.Ability{}},
		{"claude-opus-4-1-20250805", strictapi.Ability{OneSampler: true, NoFormat: true}},
		{"claude-haiku-4-5", strictapi.Ability{OneSampler: true}},
		{"claude-sonnet-4-6", strictapi.Ability{NoPrefill: true, OneSampler: true}},
		{"us.anthropic.claude-opus-4.7", strictapi.Ability{NoEnabled: true, NoTemperature: true, NoPrefill: true, OneSampler: true}},
		{"claude-sonnet-5-5", strictapi.Ability{NoEnabled: true, NoTemperature: true, NoPrefill: true, NoForced: true, OneSampler: true}},
		{"claude-fable-1", strictapi.Ability{NoEnabled: true, NoTemperature: true, NoPrefill: true, NoForced: true}},
	} {
		if got := strictapi.AbilityOf(c.model); got != c.want {
			t.Errorf("%s: got %+v, want %+v", c.model, got, c.want)
		}
	}
}

func FuzzCheck(f *testing.F) {
	for _, c := range append(anthropicCases(), openaiCases()...) {
		if len(c.body) < 4096 {
			f.Add([]byte(c.body))
		}
	}
	for _, odd := range []string{
		`{"messages":[null,3,{"role":[],"content":{}}],"tools":[1],"system":[2],"thinking":3,"tool_choice":[],"max_tokens":"x"}`,
		`{"model":{},"messages":{},"tools":{},"stop_sequences":{},"temperature":"hot","tool_choice":{"type":{}}}`,
		`{"messages":[{"role":"assistant","tool_calls":[null,{"id":7,"function":[]}]},{"role":"tool","tool_call_id":[]}]}`,
	} {
		f.Add([]byte(odd))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, api := range []wire{anthropicWire{}, openaiWire{}} {
			broken := api.check(body, "")
			for _, v := range broken {
				if v.Rule == "" || v.Message == "" {
					t.Fatalf("empty violation %+v", v)
				}
			}
			v, err := strictapi.Parse(body)
			if err != nil {
				if len(broken) == 0 {
					t.Fatal("what is not JSON passes")
				}
				continue
			}
			r := &Request{}
			api.read(r, strictapi.ObjectOf(v))
			r.Results()
			r.AllResults()
			r.Prompt()
			r.Transcript()
		}
	})
}

func BenchmarkCheckAnthropic(b *testing.B) {
	turn := "," + assistant(use("T", "add", `{"a":1,"b":2}`)) + "," + user(result("T", strings.Repeat("x", 500)))
	list := hello
	for i := range 100 {
		list += strings.ReplaceAll(turn, `"T"`, fmt.Sprintf(`"t%d"`, i))
	}
	body := []byte(messages(list, withTool))
	if got := strictapi.CheckAnthropic(body); got != nil {
		b.Fatal(got)
	}
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		strictapi.CheckAnthropic(body)
	}
}
