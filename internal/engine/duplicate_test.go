package engine_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/internal/fact"
)

// reports reports whether f is the outcome of an effect, or brings an input.
func reports(f event.Data) bool {
	switch f := f.(type) {
	case event.AssistantMessage, event.ModelFailed, fact.Waited, fact.Authorized, fact.Answered, fact.ToolDone, fact.ToolAmended, event.ToolResult:
		return true
	case event.UserMessage:
		return f.Delivery == fact.AsPrompt
	}
	return false
}

// conversation returns the content of the transcript.
func (w *world) conversation() []byte {
	data, err := json.Marshal(w.transcript.Messages)
	w.check(err)
	return data
}

// FuzzDuplicates delivers reports twice, and late: right after they came, and at
// any later time. They change nothing. Results of calls that run at the same
// time may come in any order: the conversation is the same.
func FuzzDuplicates(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20})
	f.Add(bytes.Repeat([]byte{3, 17, 99, 5, 40, 8, 12, 128, 200}, 15))
	f.Add([]byte("the quick brown fox jumps over the lazy dog and does it again, and again"))
	f.Fuzz(duplicates)
}

// TestDuplicates does the same with scripts drawn at random.
func TestDuplicates(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		script := make([]byte, 20+rnd.IntN(150))
		for i := range script {
			script[i] = byte(rnd.IntN(256))
		}
		duplicates(t, script)
	}
}

func duplicates(t *testing.T, script []byte) {
	if len(script) == 0 || len(script) > 200 {
		return
	}
	w := &world{t: t, wanted: map[string]bool{}}
	w.happen(config(t, ""))
	for i, b := range script {
		w.random(b, i)
	}
	again := &world{t: t}
	var counted []bool
	for i, e := range w.facts {
		counted = append(counted, again.apply(e))
		want, said := keys(&again.state), len(again.transcript.Messages)
		late := int(script[i%len(script)]) % (i + 1)
		for _, n := range []int{i, late} {
			old := w.facts[n]
			if !counted[n] || !reports(old.Data) {
				continue
			}
			if again.apply(old) {
				t.Fatalf("%s of fact %d counts again after fact %d", event.Type(old.Data), old.Seq, e.Seq)
			}
			if got := keys(&again.state); !slices.Equal(got, want) || said != len(again.transcript.Messages) {
				t.Fatalf("%s of fact %d changes what is wanted after fact %d from %v to %v", event.Type(old.Data), old.Seq, e.Seq, want, got)
			}
		}
	}
	if got, want := keys(&again.state), keys(&w.state); !slices.Equal(got, want) {
		t.Errorf("with duplicates %v is wanted, without %v", got, want)
	}
	w.swapped(counted)
}

func (w *world) apply(e event.Event) bool {
	counted := w.state.Apply(e)
	if counted {
		w.transcript.Apply(e)
	}
	return counted
}

// swapped plays the facts with neighbours swapped that are results of calls.
func (w *world) swapped(counted []bool) {
	facts := slices.Clone(w.facts)
	for i := 1; i < len(facts); i++ {
		a, first := facts[i-1].Data.(event.ToolResult)
		b, second := facts[i].Data.(event.ToolResult)
		ofBatch := strings.HasPrefix(a.Key, "gather/") || strings.HasPrefix(b.Key, "gather/") // it waits for its parts
		if first && second && !ofBatch && counted[i-1] && counted[i] && a.Cause == "" && b.Cause == "" {
			facts[i-1].Data, facts[i].Data = b, a
		}
	}
	again := &world{t: w.t}
	for _, e := range facts {
		again.apply(e)
	}
	if got, want := keys(&again.state), keys(&w.state); !slices.Equal(got, want) || !bytes.Equal(again.conversation(), w.conversation()) {
		w.t.Errorf("in another order %v is wanted after %s, not %v after %s", got, again.conversation(), want, w.conversation())
	}
}
