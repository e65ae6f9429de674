package llmtest

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/strictapi"
)

// corpusDir holds recorded requests and the same rules in Python.
func corpusDir(t testing.TB) string {
	t.Helper()
	dir, err := filepath.Abs("../../../shared/corpus")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "index.json")); err != nil {
		t.Skip("no recorded traffic at ../shared/corpus")
	}
	return dir
}

// A recording is a request that a provider accepted.
type recording struct {
	Name, API, Provider, Path string
	body                      json.RawMessage
}

func (r recording) host() strictapi.Host {
	if r.Provider == "openai" || r.Provider == "azure" {
		return strictapi.OpenAI
	}
	return strictapi.Compatible
}

func recordings(t testing.TB) []recording {
	t.Helper()
	dir := corpusDir(t)
	index, err := os.ReadFile(filepath.Join(dir, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all []recording
	if err := json.Unmarshal(index, &all); err != nil {
		t.Fatal(err)
	}
	for i := range all {
		data, err := os.ReadFile(filepath.Join(dir, all[i].Path))
		if err != nil {
			t.Fatal(err)
		}
		var item struct {
			Body json.RawMessage `json:"request_body"`
		}
		if err := json.Unmarshal(data, &item); err != nil {
			t.Fatal(err)
		}
		all[i].body = item.Body
	}
	return all
}

func (r recording) check() []strictapi.Violation {
	if r.API == "anthropic" {
		return strictapi.CheckAnthropic(r.body)
	}
	return strictapi.CheckHost(r.body, r.host())
}

func TestRecordedRequestsPass(t *testing.T) {
	for _, r := range recordings(t) {
		if got := r.check(); got != nil {
			t.Errorf("%s: got %v", r.Name, got)
		}
	}
}

// oracle asks the Python rules about many bodies: one line each of rules, null
// where the body is too odd for them.
const oracle = `
import json, sys
import wire_mock
for line in sys.stdin:
    q = json.loads(line)
    try: v = wire_mock.anthropic(q['body']) if q['api'] == 'anthropic' else wire_mock.openai(q['body'], q['host'])
    except Exception: print('null'); continue
    print(json.dumps(sorted({x[0] for x in v})))
`

func TestRulesAgreeWithPython(t *testing.T) {
	dir := corpusDir(t)
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("no python3")
	}
	questions := oracleQuestions(t)
	var in bytes.Buffer
	for _, q := range questions {
		if err := json.NewEncoder(&in).Encode(map[string]any{"api": q.API, "host": q.host(), "body": q.body}); err != nil {
			t.Fatalf("%v: %.200s", err, q.body)
		}
	}
	cmd := exec.Command(python, "-B", "-c", oracle)
	cmd.Dir, cmd.Stdin, cmd.Stderr = dir, &in, os.Stderr
	cmd.Env = append(os.Environ(), "PYTHONPATH="+dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(lines) != len(questions) {
		t.Fatalf("%d answers to %d questions", len(lines), len(questions))
	}
	compared, broken := 0, 0
	for i, line := range lines {
		var want []string
		if err := json.Unmarshal([]byte(line), &want); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			continue
		}
		compared++
		got := rulesOf(slices.DeleteFunc(questions[i].check(), beyondPython))
		if len(want) > 0 {
			broken++
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, Python says %v: %.1000s", questions[i].Name, got, want, questions[i].body)
		}
	}
	t.Logf("%d bodies compared, %d of them break rules", compared, broken)
	if broken < compared/5 {
		t.Errorf("only %d of %d bodies break a rule: too tame", broken, compared)
	}
}

// beyondPython tells what the Go rules judge and the Python rules do not:
// unknown fields below the top level, content of a type that there is not, and
// signatures of this package.
func beyondPython(v strictapi.Violation) bool {
	return v.Rule == "A07" && strings.HasSuffix(v.Path, ".content") || v.Rule == "A02" && strings.Contains(v.Path, ".") || v.Rule == "A30" || v.Rule == "A32"
}

// oracleQuestions returns the minimal bad requests and mutated recordings.
func oracleQuestions(t *testing.T) []recording {
	var out []recording
	for _, c := range anthropicCases() {
		if json.Valid([]byte(c.body)) {
			out = append(out, recording{Name: c.rule, API: "anthropic", body: []byte(c.body)})
		}
	}
	for _, c := range openaiCases() {
		if json.Valid([]byte(c.body)) {
			out = append(out, recording{Name: c.rule, API: "openai", Provider: "openai", body: []byte(c.body)})
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, r := range recordings(t) {
		if len(r.body) > 50_000 {
			continue
		}
		for range 3 {
			v, err := strictapi.Parse(r.body)
			if err != nil {
				t.Fatal(err)
			}
			for range 1 + rng.IntN(2) {
				mutate(rng, v)
			}
			data, err := json.Marshal(v)
			if err != nil {
				t.Fatal(err)
			}
			m := r
			m.body = data
			out = append(out, m)
		}
	}
	return out
}

// mutate changes one place of a request in a way that keeps JSON types, which
// is what the Python rules count on.
func mutate(rng *rand.Rand, v any) {
	body := strictapi.ObjectOf(v)
	var lists [][]any
	var objects []strictapi.Object
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			lists = append(lists, v)
			for _, x := range v {
				walk(x)
			}
		case strictapi.Object:
			objects = append(objects, v)
			for _, k := range slices.Sorted(maps.Keys(v)) {
				walk(v[k])
			}
		}
	}
	walk(body["messages"])
	walk(body["tools"])
	pick := func() strictapi.Object { return objects[rng.IntN(len(objects))] }
	switch rng.IntN(8) {
	case 0: // leave a field out
		o := pick()
		keys := slices.Sorted(maps.Keys(o))
		if len(keys) > 0 {
			delete(o, keys[rng.IntN(len(keys))])
		}
	case 1: // another word
		o := pick()
		for _, k := range slices.Sorted(maps.Keys(o)) {
			if strictapi.IsText(o[k]) && rng.IntN(3) == 0 {
				o[k] = []string{"", " ", "user", "assistant", "tool_result", "text", "a.b", "t1", "end "}[rng.IntN(9)]
			}
		}
	case 2, 3: // swap, or double by overwriting
		l := lists[rng.IntN(len(lists))]
		if len(l) > 1 {
			i, j := rng.IntN(len(l)), rng.IntN(len(l))
			l[i], l[j] = l[j], l[i]
			if rng.IntN(2) == 0 {
				l[i] = l[j]
			}
		}
	case 4: // drop a message
		if ms := strictapi.ListOf(body["messages"]); len(ms) > 1 {
			i := rng.IntN(len(ms))
			body["messages"] = slices.Delete(ms, i, i+1)
		}
	case 5: // repeat a message
		if ms := strictapi.ListOf(body["messages"]); len(ms) > 0 {
			i := rng.IntN(len(ms))
			body["messages"] = slices.Insert(slices.Clone(ms), i, ms[i])
		}
	case 6: // options
		options := []strictapi.Object{
			{"temperature": 1.5}, {"temperature": 0}, {"top_k": 3}, {"top_p": 0.5}, {"max_tokens": 512}, {"max_tokens": -1}, {"seed": 7},
			{"thinking": strictapi.Object{"type": "enabled", "budget_tokens": 1024}}, {"thinking": strictapi.Object{"type": "adaptive"}},
			{"tool_choice": strictapi.Object{"type": "any"}}, {"tool_choice": strictapi.Object{"type": "tool", "name": "zz"}}, {"stop_sequences": []any{" "}},
			{"model": "claude-opus-4-7"}, {"model": "claude-sonnet-4-6"}, {"model": "gpt-5"}, {"model": "o3"},
			{"parallel_tool_calls": true}, {"stream_options": strictapi.Object{"include_usage": true}}, {"stream": false},
			{"response_format": strictapi.Object{"type": "json_object"}}, {"max_completion_tokens": 5},
		}
		maps.Copy(body, options[rng.IntN(len(options))])
	case 7: // breakpoints
		for _, o := range objects {
			if o["type"] != nil && rng.IntN(2) == 0 {
				o["cache_control"] = strictapi.Object{"type": "ephemeral", "ttl": []string{"5m", "1h"}[rng.IntN(2)]}
			}
		}
	}
}
