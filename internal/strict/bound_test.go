package strict_test

import (
	"encoding/json"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/strict"
)

// spent returns the bytes that fn takes of memory.
func spent(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// The cost of a schema grows with its size, however it is nested.
func TestCost(t *testing.T) {
	nested := func(open, shut string) func(n int) string {
		return func(n int) string {
			return `{"type":"object","properties":{"a":` + strings.Repeat(open, n) + `{"type":"string"}` + strings.Repeat(shut, n) + `},"required":["a"]}`
		}
	}
	listed := func(item func(i int) string, before, after string) func(n int) string {
		return func(n int) string {
			var list []string
			for i := range n {
				list = append(list, item(i))
			}
			return before + strings.Join(list, ",") + after
		}
	}
	for name, schema := range map[string]func(n int) string{
		"anyOf":      nested(`{"anyOf":[`, `]}`),
		"oneOf":      nested(`{"oneOf":[{"type":"null"},`, `]}`),
		"items":      nested(`{"type":"array","items":`, `}`),
		"properties": nested(`{"type":"object","properties":{"a":`, `}}`),
		"mixed":      nested(`{"anyOf":[{"type":"array","items":`, `}]}`),
		"$defs":      nested(`{"$ref":"#","$defs":{"a":`, `}}`),
		"defs":       nested(`{"anyOf":[{"type":"null"}],"definitions":{"a":`, `}}`),
		"members": listed(func(i int) string { return `"a` + strconv.Itoa(i) + `":{"type":"string"}` },
			`{"type":"object","properties":{`, `}}`),
		"alternatives": listed(func(int) string { return `{"type":"string"}` }, `{"type":"object","properties":{"a":{"anyOf":[`, `]}}}`),
		"thick":        listed(func(int) string { return `{"type":"string"}` }, `{"type":"object","properties":{"a":`+strings.Repeat(`{"anyOf":[`, 35), strings.Repeat(`]}`, 35)+`}}`),
		"twice":        listed(func(int) string { return `"description":"x"` }, `{"type":"object","properties":{},`, `}`),
	} {
		for _, form := range []func(json.RawMessage) ([]byte, bool){strict.OpenAI, strict.Anthropic} {
			few, many := json.RawMessage(schema(200)), json.RawMessage(schema(1600))
			form(few)
			a, b := spent(func() { form(few) }), spent(func() { form(many) })
			if b > 12*a+100_000 {
				t.Errorf("%s: %d bytes for %d, %d for %d", name, a, len(few), b, len(many))
			}
		}
	}
}

// A name that is there twice means one thing to one reader and another to the next.
func TestTwice(t *testing.T) {
	for _, s := range []string{
		`{"type":"object","properties":{"a":{"type":"string"}},"properties":{}}`,
		`{"type":"object","properties":{"a":{"type":"string"},"a":{"type":"null"}}}`,
	} {
		if out, ok := strict.OpenAI(json.RawMessage(s)); ok {
			t.Errorf("%s: %s", s, out)
		}
	}
}
