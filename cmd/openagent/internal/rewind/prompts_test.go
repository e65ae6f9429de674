package rewind

import (
	"testing"
	"time"
)

// A line for a person has the prompt first, and the time of their clock.
func TestChoice(t *testing.T) {
	here := time.FixedZone("here", 2*60*60)
	p := PromptPlace{Fact: 4, Time: time.Date(2030, 1, 1, 22, 1, 40, 0, time.UTC), Files: filesKept, Prompt: "fix\n the  discount"}
	for now, want := range map[time.Time]string{
		time.Date(2030, 1, 2, 9, 0, 0, 0, here):      "fix the discount · files kept · 00:01:40 · /rewind 4",
		time.Date(2030, 1, 3, 9, 0, 0, 0, here):      "fix the discount · files kept · 2030-01-02 00:01:40 · /rewind 4",
		time.Date(2030, 1, 1, 23, 0, 0, 0, time.UTC): "fix the discount · files kept · 22:01:40 · /rewind 4",
	} {
		if got := p.Choice(now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
