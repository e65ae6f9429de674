package tracefile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"
)

// Write writes records as lines of JSON.
func Write(w io.Writer, rs []Record) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for i := range rs {
		if err := e.Encode(&rs[i]); err != nil {
			return fmt.Errorf("trace: %w", err)
		}
	}
	return nil
}

// WriteChrome writes records in the format of Chrome's trace viewer, which
// https://ui.perfetto.dev reads too. Each session is a process. Nested spans are under each
// other, concurrent ones side by side.
func WriteChrome(w io.Writer, rs []Record) error {
	type chrome struct {
		Name  string         `json:"name"`
		Cat   string         `json:"cat,omitempty"`
		Phase string         `json:"ph"`
		TS    float64        `json:"ts"`
		Dur   float64        `json:"dur,omitempty"`
		PID   int            `json:"pid"`
		TID   int            `json:"tid"`
		Args  map[string]any `json:"args,omitempty"`
	}
	rs = slices.Clone(rs)
	slices.SortStableFunc(rs, func(a, b Record) int {
		return cmp.Or(a.Start.Compare(b.Start), cmp.Compare(b.Duration, a.Duration))
	})
	type lane []time.Time // ends of the spans that are open, the outermost first
	pids, lanes := map[string]int{}, map[string][]lane{}
	events := []chrome{}
	for _, r := range rs {
		if r.Session == "" {
			continue
		}
		if pids[r.Session] == 0 {
			pids[r.Session] = len(pids) + 1
			events = append(events, chrome{Name: "process_name", Phase: "M", PID: pids[r.Session], Args: map[string]any{"name": cmp.Or(r.Agent, "session") + " " + r.Session}})
		}
		end := r.Start.Add(time.Duration(r.Duration * float64(time.Millisecond)))
		tid := -1
		all := lanes[r.Session]
		for i := range all {
			for len(all[i]) > 0 && !all[i][len(all[i])-1].After(r.Start) {
				all[i] = all[i][:len(all[i])-1]
			}
			if n := len(all[i]); tid < 0 && (n == 0 || !all[i][n-1].Before(end)) {
				tid = i
			}
		}
		if tid < 0 {
			all, tid = append(all, nil), len(all)
		}
		all[tid] = append(all[tid], end)
		lanes[r.Session] = all
		args := map[string]any{"key": r.Key}
		for k, v := range r.Attrs {
			args[k] = v
		}
		if r.Error != "" {
			args["error"], args["message"] = r.Error, r.Message
		}
		name := r.Kind
		if r.Name != "" {
			name += " " + r.Name
		}
		events = append(events, chrome{name, r.Kind, "X", float64(r.Start.UnixMicro()), r.Duration * 1000, pids[r.Session], tid, args})
	}
	if err := json.NewEncoder(w).Encode(map[string]any{"displayTimeUnit": "ms", "traceEvents": events}); err != nil {
		return fmt.Errorf("trace: %w", err)
	}
	return nil
}
