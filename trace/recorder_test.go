package trace

import (
	"bytes"
	"strings"
	"testing"
)

// A recorder stops at its limit and says what is missing.
func TestRecorderBounds(t *testing.T) {
	var out bytes.Buffer
	rec := NewRecorder(&out)
	rec.most = 400
	for range 10 {
		_, end := rec.Trace(t.Context(), Span{Kind: "tool", Name: "x", Session: "s"})
		end(End{})
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 500 || !strings.Contains(out.String(), `"dropped":8`) {
		t.Errorf("%d bytes:\n%s", out.Len(), &out)
	}
}
