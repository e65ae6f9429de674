package settings

import (
	"context"
)

// RunChecked is run after a check of the options. The check leaves the format of the output
// as the user wrote it.
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
