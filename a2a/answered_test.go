package a2aagent

import (
	"fmt"
	"testing"
)

// Many messages of one user do not make the handler forget what those of others have answered.
func TestAnsweredOfUsers(t *testing.T) {
	var a answered
	mine := answerKey{"ann", "t.1", "m1"}
	a.of(mine).call = "c1"
	for i := range 3 * maxAnswered {
		a.of(answerKey{"bob", "t.1", fmt.Sprint("m", i)}).call = "x"
	}
	if got := a.of(mine).call; got != "c1" {
		t.Errorf("ann's message has answered %q", got)
	}
	if len(a.calls) > maxAnswered || len(a.order) != len(a.calls) {
		t.Errorf("there are %d and %d answers", len(a.calls), len(a.order))
	}
	if a.of(answerKey{"bob", "t.1", "m0"}).call != "" {
		t.Error("bob's oldest message is remembered")
	}
}
