package serve

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/llm/llmtest"
)

// The title of a share hides what its page hides, also where the title is cut and in later lines of a prompt.
func TestShareTitle(t *testing.T) {
	for i, c := range []struct{ prompt, secret, title string }{
		{strings.Repeat("a", 70) + " known-secret-value", "known-se", strings.Repeat("a", 70) + " ***"},
		{strings.Repeat("a", 60) + " sk-ant-api03-abcDEF0123456789abcdef", "sk-ant", strings.Repeat("a", 60) + " ***"},
		{strings.Repeat("a", 70) + " jane@example.com", "jane", strings.Repeat("a", 70) + " [e-mail]"},
		{`use this\nPLAIN_NAME=zebra quagga`, "zebra", "use this PLAIN_NAME=***"},
	} {
		s := newSite(t, agent.Agent{Model: llmtest.Script(llmtest.Say("one"))}, sharesIn(""))
		s.do("POST", "/v1/sessions", `{"session":"chat","text":"`+c.prompt+`"}`, 201, nil)
		r := s.open("chat", 0)
		all := r.until(t, isType("run_end"))
		r.close()
		made, _ := s.share(`{"session":"chat"}`)
		_, page, _ := s.strange("GET", made.Path)
		title := regexp.MustCompile(`(?s)<title>(.*?)</title>`).FindString(page)
		if strings.Contains(page, c.secret) || !strings.Contains(title, c.title) {
			t.Errorf("%d: the title is %q", i, title)
		}
		if i > 0 {
			continue
		}
		// The prompt of a title may be in no item: the preview tries it all the same.
		s.do("POST", "/v1/sessions/chat/rewind", fmt.Sprintf(`{"fact":%d}`, 1), 200, nil)
		var shown sharePreview
		s.do("POST", "/v1/shares/preview", `{"session":"chat"}`, 200, &shown)
		if shown.Rules[0].Count != 1 {
			t.Errorf("after a rewind of %d facts: %+v", len(all), shown)
		}
	}
}
