package settings

import (
	"encoding/json"
	"fmt"

	"github.com/openagent-go/agent"
)

// PermitsBudget returns an error if managed settings forbid the budget.
func (o *Options) PermitsBudget(b agent.Budget) error {
	for _, l := range []struct {
		key   string
		value float64
	}{{"max_turns", float64(b.Turns)}, {"max_model_calls", float64(b.ModelCalls)}, {"max_budget_usd", b.USD}, {"timeout", float64(b.Time)}} {
		v, ok := o.Managed(l.key)
		if !ok {
			continue
		}
		most := 0.0
		if l.key == "timeout" {
			most = float64(o.Settings.Duration(l.key))
		} else if err := json.Unmarshal(v.Value, &most); err != nil {
			return fmt.Errorf("%s: %w", v.Source, err)
		}
		if l.value == 0 || l.value > most {
			return fmt.Errorf("%s: %s may not be more than %s", v.Source, l.key, v.Value)
		}
	}
	return nil
}
