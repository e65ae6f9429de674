package tools

import (
	"context"
	"errors"
	"maps"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/openagent-go/agent/cmd/openagent/internal/app"
	"github.com/openagent-go/agent/cmd/openagent/internal/cli"
	"github.com/openagent-go/agent/cmd/openagent/internal/sessionstore"
	"github.com/openagent-go/agent/event"
	"github.com/openagent-go/agent/session"
)

// A toolCount sums the calls of a tool over several runs. It counts only runs that have ended.
type toolCount struct {
	Name      string `json:"name"`
	Calls     int    `json:"calls"`
	Successes int    `json:"successes"`
	Failures  int    `json:"failures"`
	// Absent if no time was measured. A batch has no time of its own: its calls count under their
	// own tools.
	TotalMS float64 `json:"total_ms,omitempty"`
	MeanMS  float64 `json:"mean_ms,omitempty"`
}

func toolStats(ctx context.Context, h *cli.IO, o *app.ToolsOptions) error {
	uses, err := toolUses(ctx, h, o)
	if err != nil {
		return err
	}
	list := []toolCount{}
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		u := uses[name]
		mean := u.Time / time.Duration(max(u.Calls, 1))
		ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
		list = append(list, toolCount{name, u.Calls, u.Calls - u.Failures, u.Failures, ms(u.Time), ms(mean)})
		rows = append(rows, []string{name, strconv.Itoa(u.Calls), strconv.Itoa(u.Calls - u.Failures), strconv.Itoa(u.Failures), rounded(u.Time), rounded(mean)})
	}
	if len(list) == 0 && o.Output != cli.FormatJSON {
		h.Warn("no tool calls here yet; --all counts the sessions of all folders")
	}
	return h.WriteList(o.Output, list, "TOOL CALLS OK FAILED TIME MEAN", rows)
}

// rounded formats a duration with about three digits; "-" means none.
func rounded(d time.Duration) string {
	if d == 0 {
		return "-"
	}
	for unit := time.Second; unit > time.Microsecond; unit /= 1000 {
		if d >= unit {
			return d.Round(unit / 100).String()
		}
	}
	return d.Round(time.Microsecond).String()
}

// toolUses sums the tool statistics at the ends of runs.
func toolUses(ctx context.Context, h *cli.IO, o *app.ToolsOptions) (map[string]event.ToolUse, error) {
	all := map[string]event.ToolUse{}
	if o.Session != "" {
		store, id, err := sessionstore.Locate(ctx, h, o.Place(), o.Session)
		if err != nil {
			return nil, err
		}
		return all, addUses(ctx, all, store, id)
	}
	stores, err := sessionstore.Stores(ctx, h, o.Place(), o.All)
	if err != nil {
		return nil, err
	}
	for _, store := range stores {
		infos, err := store.List(ctx)
		if err != nil {
			return nil, err
		}
		for _, info := range infos {
			err := addUses(ctx, all, store, info.Session)
			switch {
			case errors.Is(err, session.ErrCorrupt), errors.Is(err, session.ErrNotFound):
				h.Warn("session %s is not counted: %v", info.Session, err)
			case err != nil:
				return nil, err
			}
		}
	}
	return all, nil
}

// addUses adds the tool calls of a session's runs. It decodes only the ends of runs.
func addUses(ctx context.Context, all map[string]event.ToolUse, store session.Store, id string) error {
	ends, err := session.Last(ctx, store, id, math.MaxInt, func(typ string) bool { return typ == "run_end" })
	if err != nil {
		return err
	}
	for i, e := range ends {
		end, ok := e.Data.(event.RunEnd)
		if !ok || end.Reason == event.Suspended && i < len(ends)-1 { // the next end counts the whole run
			continue
		}
		for name, u := range end.Tools {
			sum := all[name]
			sum.Calls += u.Calls
			sum.Failures += u.Failures
			sum.Time += u.Time
			all[name] = sum
		}
	}
	return nil
}
