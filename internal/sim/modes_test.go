package sim

import (
	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tools"
)

// SetMode changes the permission mode of a session.
type SetMode struct {
	Session int
	Mode    permission.Mode
}

func (o SetMode) run(w *world) {
	w.note("mode changed", w.session(o.Session).open.SetMode(w.life.ctx, o.Mode))
}

func (SetMode) changesMode() {}

func someMode(g *gen) permission.Mode {
	return pick(g, permission.Default, permission.Default, permission.Bypass, permission.Bypass, permission.Auto, permission.AcceptEdits, permission.DontAsk)
}

// planMode gives an agent the tools of plan mode.
func planMode(_ *world, _ *life, a *agent.Agent) {
	enter, exit := tools.PlanMode()
	a.Tools = append(a.Tools, enter, exit)
}
