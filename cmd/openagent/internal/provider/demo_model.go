package provider

import (
	"fmt"
	"strings"

	"github.com/openagent-go/agent/internal/providers"
	"github.com/openagent-go/agent/llm"
	"github.com/openagent-go/agent/llm/llmtest"
)

// DemoModel is the model of the provider demo: a rule answers. It looks at the
// working folder with a real tool and says what it saw.
func DemoModel() llm.Model {
	return &llmtest.Model{ID: providers.DemoName, Rule: func(r *llmtest.Request, _ int) llmtest.Step {
		results := r.Results()
		if len(results) > 0 {
			lines := strings.Split(strings.TrimSpace(results[0].Text), "\n")
			return llmtest.Say(fmt.Sprintf("(simulated) I am a rule, not a model. The tool %s found %d lines here; the first is %q.",
				results[0].Use.Name, len(lines), lines[0]))
		}
		for _, t := range r.Tools {
			if t.Name == "Glob" {
				return llmtest.Call(llmtest.Use("", "Glob", map[string]string{"pattern": "*"}))
			}
		}
		return llmtest.Say("(simulated) I am a rule, not a model, and have no tools here.")
	}}
}
