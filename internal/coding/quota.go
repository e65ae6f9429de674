package coding

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/openagent-go/agent/internal/parts"
	"github.com/openagent-go/agent/quota"
)

// dailyKey is the setting that limits the cost of all prompts of a day.
const dailyKey = "daily_budget_usd"

// limitDay adds the limit of a day to the agent's quota. All programs with the same Quotas, or the same
// Home, share what is spent.
func (c *Coder) limitDay() error {
	day := &quota.Account{Store: quota.Memory(), Key: "user", Period: quota.Day}
	if !c.Settings.Decode(dailyKey, &day.USD) {
		return nil
	}
	if c.options.Quotas != nil {
		day.Store = c.options.Quotas
	} else if home := c.finder.Home; home != "" {
		day.Store = quota.Dir(filepath.Join(home, parts.QuotasName))
	}
	switch own := c.Agent.Quota.(type) {
	case nil:
		c.Agent.Quota = day
	case *quota.Account:
		c.Agent.Quota = quota.Accounts{own, day}
	case quota.Accounts:
		c.Agent.Quota = append(slices.Clip(own), day)
	case quota.By:
		c.Agent.Quota = quota.By(func(ctx context.Context, session string) quota.Accounts {
			if own == nil {
				return quota.Accounts{day}
			}
			return append(slices.Clip(own(ctx, session)), day)
		})
	default:
		return &OptionError{Option: "Agent.Quota", Err: fmt.Errorf("the setting %s cannot be joined with a %T; use a quota of package quota, or leave the setting out", dailyKey, own)}
	}
	return nil
}
