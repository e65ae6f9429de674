package hookrun

import (
	"fmt"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/internal/hookconst"
	"github.com/openagent-go/agent/permission"
)

// maxRules bounds the rules of one update.
const maxRules = 200

// CheckUpdate returns the first mistake in an update.
func CheckUpdate(u hook.Update) error {
	switch u.Type {
	case hookconst.AddRules, hookconst.ReplaceRules, hookconst.RemoveRules:
	case hookconst.SetMode:
		if u.Mode == "" {
			return fmt.Errorf("%s has no mode; set one", u.Type)
		}
		_, err := permission.ParseMode(string(u.Mode))
		return err
	default:
		return fmt.Errorf("there is no permission update %.50q; there are %s, %s, %s and %s", u.Type, hookconst.AddRules, hookconst.ReplaceRules, hookconst.RemoveRules, hookconst.SetMode)
	}
	switch u.Behavior {
	case permission.Allowed, permission.Asked, permission.Denied:
	default:
		return fmt.Errorf("%s: the behavior is %.50q; it must be allow, ask or deny", u.Type, u.Behavior)
	}
	if len(u.Rules) > maxRules {
		return fmt.Errorf("%s: %d rules are too many; the limit is %d", u.Type, len(u.Rules), maxRules)
	}
	for _, r := range u.Rules {
		if err := r.Check(); err != nil {
			return fmt.Errorf("%s: %w", u.Type, err)
		}
	}
	return nil
}
