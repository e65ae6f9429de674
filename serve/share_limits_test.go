package serve

import (
	"net/http"
	"testing"
)

// Wrong passwords of one client do not lock others out, until there are very many.
func TestSharePasswordClients(t *testing.T) {
	password, err := newPassword("correct horse")
	if err != nil {
		t.Fatal(err)
	}
	sh := share{ID: "x", Password: password}
	password.Rounds = 1
	s := new(Server)
	wrong := func(address string) int {
		_, err := s.enter(sh, clientOf(&http.Request{RemoteAddr: address}), "a guess")
		return errorOf(err).Status
	}
	for range maxGuesses {
		if status := wrong("[2001:db8::1]:1"); status != 401 {
			t.Fatal(status)
		}
	}
	for address, want := range map[string]int{"[2001:db8::2]:1": 429, "[2001:db8:0:1::1]:1": 401, "192.0.2.1:9": 401} {
		if status := wrong(address); status != want {
			t.Errorf("%s after the guesses of another: %d, want %d", address, status, want)
		}
	}
	for i := range maxAllGuesses {
		s.sharing.wrong["x"] = append(s.sharing.wrong["x"], guess{s.sharing.wrong["x"][i%2].at, "another"})
	}
	if status := wrong("192.0.2.2:9"); status != 429 {
		t.Errorf("after guesses of everybody: %d", status)
	}
}

// What waits for a viewer is dropped when it may not see it any more.
func TestRevokedViewersGetNothing(t *testing.T) {
	for reason, want := range map[string]int{"revoked": 0, "expired": 0, "shutdown": 2} {
		v := newViewer()
		v.put(jsonFrame("text", "waits"))
		v.end(reason)
		v.put(jsonFrame("text", "later"))
		if frames, _, gone := v.take(); len(frames) != want || gone != reason {
			t.Errorf("%s: %d frames, want %d", gone, len(frames), want)
		}
	}
}
