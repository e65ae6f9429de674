package settings

import (
	"context"
)

// RunChecked calls run after it has checked the options. The check does not change the output
// format.
func (o *Options) RunChecked(format *string, run func(context.Context, []string) error) func(context.Context, []string) error {
	return func(ctx context.Context, args []string) error {
		was := *format
		if err := o.Check(); err != nil {
			return err
		}
		*format = was
		return run(ctx, args)
	}
}
