package confine

import (
	"reflect"
	"testing"
)

var plans = []Plan{
	{},
	{
		Path: "/bin/true", Args: []string{"true", ""}, Env: []string{"A=b\nc"}, Dir: "/", Files: 2, Write: []string{"/w"}, ReadOnly: []string{"/w/r"},
		Hidden: []string{"/h"}, Read: []string{"/r"}, ReadAll: true, Proxy: "/p", UnixSockets: true, LocalBinding: true, Nested: true,
	},
	{Network: true, Weaker: true, Landlock: true},
}

func TestPlan(t *testing.T) {
	for _, p := range plans {
		b := p.Encode()
		if got, err := Decode(b); err != nil || !reflect.DeepEqual(got, p) {
			t.Errorf("%+v became %+v, %v", p, got, err)
		}
		for n := range b {
			if _, err := Decode(b[:n]); err == nil {
				t.Errorf("%d of %d bytes are a plan", n, len(b))
			}
		}
		if _, err := Decode(append(b, 0)); err == nil {
			t.Error("a plan with something after it is one")
		}
	}
	for _, r := range []Report{{}, {Left: 3, Signal: 9}} {
		if got := DecodeReport(r.Encode()); got != r {
			t.Errorf("%+v became %+v", r, got)
		}
	}
	if got := DecodeReport(plans[1].Encode()); got != (Report{}) {
		t.Errorf("a plan is the report %+v", got)
	}
}

func FuzzDecode(f *testing.F) {
	for _, p := range plans {
		f.Add(p.Encode())
	}
	f.Fuzz(func(t *testing.T, b []byte) { _, _ = Decode(b) })
}
