package durable

import (
	"cmp"
	"context"
	"fmt"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/permission"
)

// checkMode refuses the mode that asks nothing for a session whose agent does not have it: no command
// takes more than the worker gives.
func (v *visit) checkMode(mode permission.Mode) error {
	if mode != permission.Bypass || v.mode == permission.Bypass {
		return nil
	}
	return fmt.Errorf("%w: no command can set the mode %s; set it as the mode of the worker's agent, if you must", agent.ErrConfig, mode)
}

// narrow takes a session out of the mode that asks nothing, in which another program may have left it
// or its run.
func (v *visit) narrow(ctx context.Context) error {
	if v.mode == permission.Bypass {
		return nil
	}
	mode, err := v.session.Mode(ctx)
	if err != nil || mode != permission.Bypass {
		return err
	}
	return v.session.SetMode(ctx, cmp.Or(v.mode, permission.Default))
}
