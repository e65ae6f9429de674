package llmtest

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/openagent-go/agent/internal/httptape"
	"github.com/openagent-go/agent/internal/text"
	"github.com/openagent-go/agent/llm"
)

// Steps returns a rule that answers with steps, in order. A request beyond the last step is
// a mismatch: an error that is not retried.
func Steps(steps ...Step) Rule {
	return func(_ *Request, n int) Step {
		if n < len(steps) {
			return steps[n]
		}
		return mismatch("request %d was made, but the script has %s", n+1, text.Count(len(steps), "step"))
	}
}

// Cast returns a rule for several agents that share a model, such as an agent with its
// sub-agents. The key of a part is the beginning of a system prompt or of a user message,
// such as the prompt of a sub-agent. The part with the longest such key answers. Its n
// counts the requests of that part, so that the order of the agents does not matter. A
// request without a part is a mismatch: an error that is not retried.
//
//	m := &llmtest.Model{Rule: llmtest.Cast(map[string]llmtest.Rule{
//		"Plan the release": llmtest.Steps(ask, llmtest.Say("It is planned.")),
//		"Read the log":     llmtest.Steps(llmtest.Say("It has 12 entries.")),
//	})}
func Cast(parts map[string]Rule) Rule {
	keys := slices.SortedFunc(maps.Keys(parts), func(a, b string) int {
		return cmp.Or(len(b)-len(a), cmp.Compare(a, b))
	})
	var mu sync.Mutex
	made := map[string]int{} // requests, by key
	return func(r *Request, _ int) Step {
		i := slices.IndexFunc(keys, r.beginsWith)
		if i < 0 {
			return mismatch("no part for the conversation that begins with %q", r.opening())
		}
		mu.Lock()
		n := made[keys[i]]
		made[keys[i]]++
		mu.Unlock()
		return parts[keys[i]](r, n)
	}
}

// beginsWith reports whether the system prompt or a user message begins with a key.
func (r *Request) beginsWith(key string) bool {
	return strings.HasPrefix(r.System, key) || slices.ContainsFunc(r.Messages, func(m llm.Message) bool {
		return m.Role == llm.User && strings.HasPrefix(m.Text(), key)
	})
}

// opening returns the text of the first message.
func (r *Request) opening() string {
	if len(r.Messages) == 0 {
		return ""
	}
	return r.Messages[0].Text()
}

// mismatch is the step for a request that a script does not expect.
func mismatch(format string, args ...any) Step {
	return Step{Err: httptape.Mismatched(format, args...)}
}
