package app

import (
	"cmp"
	"context"

	"github.com/openagent-go/agent/permission"
)

// keepMode removes the settings' mode from the options of a resumed session: RestoreMode decides
// whether it applies. A flag's mode always applies.
func (s *App) keepMode() {
	if o := s.Options; s.Existing && o.FromFlags.Mode == "" && o.Mode != "" {
		s.settingsMode = permission.Mode(o.Mode)
		o.Mode, s.Agent.Permissions.Mode = "", ""
	}
}

// RestoreMode sets the permission mode of a resumed session. began is the mode at the start of its
// last prompt. asked is true if this start has a new prompt.
//
//   - A mode on the command line applies. The user is told if it ends plan or dontAsk. It does
//     not end plan mode in an interrupted run that continues: only a user who sees the run can.
//     With a new prompt it ends plan mode, unless the run started with the same flag. Then the
//     flag was only repeated, and the model entered plan mode later.
//   - An interrupted run continues in its mode. Settings do not change it.
//   - The modes plan and dontAsk stay. Any other mode is replaced by the mode of the settings
//     when a new prompt starts.
//   - A mode that managed settings forbid is left.
func (s *App) RestoreMode(ctx context.Context, began permission.Mode, asked bool, tell func(format string, args ...any)) error {
	had, err := s.Session.Mode(ctx)
	if err != nil {
		return err
	}
	open, err := s.Session.CanResume(ctx)
	if err != nil {
		return err
	}
	given, strict := permission.Mode(s.Options.Mode), had == permission.Plan || had == permission.DontAsk
	switch {
	case given == had:
	case given != "" && had == permission.Plan && open && (!asked || given == began):
		tell("the interrupted run continues in mode plan: --permission-mode %s does not end plan mode. To end it, approve the plan or change the mode in the conversation", given)
		return nil
	case given != "" && strict:
		tell("--permission-mode %s ends mode %s, in which the session was left", given, had)
	}
	switch {
	case given != "":
		return s.Session.SetMode(ctx, given)
	case s.Options.Permits(had) != nil, s.settingsMode != "" && !open && !strict:
		return s.Session.SetMode(ctx, cmp.Or(s.settingsMode, permission.Default))
	case s.settingsMode != "" && s.settingsMode != had:
		tell("the session continues in its last mode, %s; the settings say %s. To change the mode, give --permission-mode", had, s.settingsMode)
	}
	return nil
}
