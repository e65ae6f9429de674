package policies

import (
	"slices"

	"github.com/openagent-go/agent/permission"
)

// Offered returns the rules of the suggestion that has exactly these. ok is false if none has them.
func Offered(widths []permission.Suggestion, keep []permission.Rule) (rules []permission.Rule, ok bool) {
	i := slices.IndexFunc(widths, func(w permission.Suggestion) bool { return slices.Equal(w.Rules, keep) })
	if i < 0 {
		return nil, false
	}
	return widths[i].Rules, true
}
