package triggerstore

import (
	"testing"
	"time"
)

// The secret that stands in for those that are not there signs nothing.
func TestStandInSignsNothing(t *testing.T) {
	m := message{method: "POST", host: "example.com", target: "/triggers/x"}
	if own := NewSecret(); !m.signed(m.sign(own, time.Now()), []Secret{own}) {
		t.Error("the trigger's own secret does not sign")
	}
	if p := m.sign(stranger, time.Now()); m.signed(p, nil) || m.signed(p, []Secret{NewSecret()}) {
		t.Error("a message that the stand-in has signed is accepted")
	}
}
