package vertex

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestFromJSON(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"access_token":"of-%s","expires_in":3600}`, r.FormValue("refresh_token"))
	}))
	defer server.Close()
	source, err := FromJSON(fmt.Appendf(nil, `{"type":"authorized_user","client_id":"c","client_secret":"s","refresh_token":"user","token_uri":%q}`, server.URL), server.Client())
	if err != nil {
		t.Fatal(err)
	}
	if got, err := source(t.Context()); err != nil || got.Value != "of-user" || got.Expires.IsZero() {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := FromJSON([]byte(`{"type":"other"}`), nil); err == nil {
		t.Error("a file of an unknown type is accepted")
	}
}
