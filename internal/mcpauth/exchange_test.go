package mcpauth

import (
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

// An error that quotes the request hides its secrets, however they are encoded.
func TestErrorsHideSecrets(t *testing.T) {
	const secret = "s3cret+value/=&"
	for _, m := range []string{methodBasic, methodPost} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			said := r.Header.Get("Authorization") + " " + r.PostFormValue("client_secret") + " " + r.PostForm.Encode() + " " + base64.StdEncoding.EncodeToString([]byte(secret))
			_, _ = w.Write([]byte(`{"error":"invalid_request","error_description":"you sent ` + said + `"}`))
		}))
		c := &Client{Server: s.URL}
		err := c.requestTokens(t.Context(), &Login{Method: m, ClientID: "me", ClientSecret: secret, TokenURL: s.URL}, url.Values{})
		s.Close()
		if err == nil || !strings.Contains(err.Error(), "you sent") || !strings.Contains(err.Error(), "***") {
			t.Fatalf("%s: %v", m, err)
		}
		for _, form := range []string{secret, url.QueryEscape(secret), base64.StdEncoding.EncodeToString([]byte(secret)),
			base64.StdEncoding.EncodeToString([]byte("me:" + url.QueryEscape(secret)))} {
			if strings.Contains(err.Error(), form) {
				t.Errorf("%s: %v", m, err)
			}
		}
	}
}
