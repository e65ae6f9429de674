package provider

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestModelNames(t *testing.T) {
	for name, ok := range map[string]bool{
		"claude-opus-4-1": true, "us.anthropic.claude-3:0": true, "meta-llama/Llama-3.3-70B": true,
		"": false, " ": false, "nonsense model \n x": false, "a b": false, "a\tb": false, "a\x00": false, "a\u2028b": false, "a\u200bb": false,
		`"claude-opus-4-1"`: false, strings.Repeat("x", maxModelName+1): false,
	} {
		value, err := json.Marshal(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := CheckModelName(value); (err == nil) != ok {
			t.Errorf("%.30q: %v", name, err)
		}
	}
}
