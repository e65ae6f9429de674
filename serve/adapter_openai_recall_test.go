package serve

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
	"github.com/openagent-go/agent/session"
	"github.com/openagent-go/agent/tool"
)

// A conversation that names no session continues after a restart of the server, if it is the same word for
// word and of the same person. Its session learns the client's instructions once.
func TestOpenAIRestart(t *testing.T) {
	store := session.Dir(filepath.Join(t.TempDir(), "sessions"))
	var m *llmtest.Model
	restart := func(steps ...llmtest.Step) *site {
		m = llmtest.Script(steps...)
		return newSite(t, agent.Agent{Model: m, Sessions: store, Tools: []tool.Tool{readTool()}})
	}
	asked := func(i int) string { return m.Requests()[i].Transcript() }
	talk := func(messages ...string) string {
		var all []map[string]string
		for i, text := range messages {
			role := "user"
			if i%2 == 1 {
				role = "assistant"
			}
			all = append(all, map[string]string{"role": role, "content": text})
		}
		b, err := json.Marshal(append([]map[string]string{{"role": "system", "content": "Be brief."}}, all...))
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf(`{"metadata":{"tools":"text"},"messages":%s}`, b)
	}
	s := restart(llmtest.Call(llmtest.Use("1", "read", map[string]string{"file": "x"})), llmtest.Say("A"), llmtest.Say("other"))
	first, id := s.chat(talk("1"))
	s.chat(talk("1")) // begins with the same words
	s.close()
	if !strings.Contains(first, "> read") || !strings.HasSuffix(first, "A") {
		t.Fatalf("the first answer is %q", first)
	}

	s = restart(llmtest.Say("SECOND"))
	second, again := s.chat(talk("1", first, "2"))
	if again != id || strings.Contains(asked(0), "took place elsewhere") || strings.Count(asked(0), "Be brief.") != 1 {
		t.Errorf("the session %s continues as %s: %s", id, again, asked(0))
	}
	s.close()

	s = restart(llmtest.Say("C"), llmtest.Say("D"), llmtest.Say("E"), llmtest.Say("F"))
	if _, third := s.chat(talk("1", first, "2", second, "3")); third != id {
		t.Error("a second restart loses the session")
	}
	// Another way from an earlier message is a fork.
	if _, fork := s.chat(talk("1", first, "another way")); fork == id || strings.Contains(asked(1), "took place elsewhere") || strings.Contains(asked(1), "SECOND") {
		t.Errorf("another way: %s", asked(1))
	}
	// An answer that the session never gave, and another person, are strange to it.
	if _, edited := s.chat(talk("1", first+"!", "2")); edited == id || !strings.Contains(asked(2), "took place elsewhere") {
		t.Errorf("an edited answer: %s", asked(2))
	}
	other := strings.Replace(talk("1", first, "2", second, "3"), "{", `{"user":"eve",`, 1)
	if _, stranger := s.chat(other); stranger == id || !strings.Contains(asked(3), "took place elsewhere") {
		t.Errorf("another person: %s", asked(3))
	}
	s.close()

	// A fork is known by its own words.
	s = restart(llmtest.Say("G"))
	if _, fork := s.chat(talk("1", first, "another way", "D", "and on")); fork == id || strings.Contains(asked(0), "took place elsewhere") || !strings.Contains(asked(0), "another way") {
		t.Errorf("the fork: %s", asked(0))
	}
}
