package app

import (
	"cmp"
	"context"

	"github.com/openagent-go/agent/permission"
)

// keepMode takes the mode of the settings out of the options of a session with a past:
// settleMode says what it counts for. A flag's mode counts in any case.
func (s *App) keepMode() {
	if o := s.Options; s.Existing && o.FromFlags.Mode == "" && o.Mode != "" {
		s.settingsMode = permission.Mode(o.Mode)
		o.Mode, s.Agent.Permissions.Mode = "", ""
	}
}

// RestoreMode settles the permission mode of a session with a past. began is the mode with
// which its last prompt began; asked reports whether this start brings a new prompt.
//
//   - A mode that the command line names counts, and a person is told where it ends plan
//     or dontAsk. It does not end plan mode in a run that was cut short and goes on: only
//     a person who sees the run does. With a new prompt it ends it, unless the run began
//     with the same flag: then it was repeated, and the plan was entered after it.
//   - A run that was cut short goes on in its mode, whatever settings say.
//   - Modes plan and dontAsk stay. In place of any other, a new prompt begins with the
//     mode of the settings.
//   - A mode that managed settings do not permit is left.
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
		tell("the run was cut short in mode plan and goes on in it: --permission-mode %s does not end plan mode. To end it, approve the plan or change the mode in the conversation", given)
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
