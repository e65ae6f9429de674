package sandbox

import (
	"encoding/json"
	"errors"
	"testing"
)

// Settings insist on a sandbox unless they allow to go without. Settings files say so by
// another name.
func TestAllowUnconfined(t *testing.T) {
	for text, want := range map[string]bool{
		`{}`: false, `{"enabled":true}`: false, `{"failIfUnavailable":true}`: false, `{"failIfUnavailable":false}`: true, `{"allowUnconfined":true}`: true, `{"allowUnconfined":false}`: false,
	} {
		var s Settings
		if err := json.Unmarshal([]byte(text), &s); err != nil || s.AllowUnconfined != want {
			t.Errorf("%s: %+v, %v", text, s, err)
		}
		data, err := json.Marshal(s)
		var again Settings
		if err != nil || json.Unmarshal(data, &again) != nil || again.AllowUnconfined != want || again.Enabled != s.Enabled {
			t.Errorf("%s became %s", text, data)
		}
	}
	foundMu.Lock()
	was := found
	found = map[needs]finding{{}: {}} // no backend works
	foundMu.Unlock()
	defer func() {
		foundMu.Lock()
		found = was
		foundMu.Unlock()
	}()
	if box, err := New(Settings{Enabled: true}, Place{Dir: t.TempDir()}); !errors.Is(err, ErrUnavailable) || box != nil {
		t.Errorf("without a backend: %v, %v", box, err)
	}
	box, err := New(Settings{Enabled: true, AllowUnconfined: true}, Place{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer box.Close()
	if box.Confiner() != nil {
		t.Error("nothing confines, and there is a confiner")
	}
}
