package main

import (
	"slices"
	"strings"
	"testing"
)

// Completion offers each verb that the usage line of a command names.
func TestCompletionOffersEachVerb(t *testing.T) {
	for _, c := range commands() {
		if c.words == nil || !strings.Contains(c.args, " | ") {
			continue
		}
		var verbs []string
		for _, alternative := range strings.Split(strings.Trim(c.args, "[]"), " | ") {
			verb, _, _ := strings.Cut(alternative, " ")
			verbs = append(verbs, verb)
		}
		slices.Sort(verbs)
		words := slices.Sorted(slices.Values(c.words))
		if !slices.Equal(words, verbs) {
			t.Errorf("openagent %s: completion offers %q, the usage line names %q", c.name, words, verbs)
		}
	}
}
