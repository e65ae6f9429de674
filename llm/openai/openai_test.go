package openai

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/chat"
	"github.com/openagent-go/agent/llm"
)

// transport answers each request with its error and keeps the requests.
type transport struct {
	requests []*http.Request
	bodies   []string
}

func (s *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	s.requests, s.bodies = append(s.requests, r), append(s.bodies, string(body))
	return nil, errors.Join(errors.New("refused"), err)
}

// ask sends a request through a client and returns it with its body.
func ask(t *testing.T, c *Client, model string) (*http.Request, string) {
	t.Helper()
	s := &transport{}
	c.HTTP = &http.Client{Transport: s}
	temperature := 3.0
	_, err := llm.Collect(t.Context(), c.Model(model), &llm.Request{
		Messages: []llm.Message{llm.UserText("hi")}, MaxTokens: 7, Temperature: &temperature, Stop: []string{"stop"},
	})
	if len(s.requests) != 1 {
		t.Fatalf("%d requests, %v", len(s.requests), err)
	}
	return s.requests[0], s.bodies[0]
}

// A Profile adds to the differences of the host that it is like.
func TestProfile(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "of-openai")
	t.Setenv("MY_KEY", "mine")
	const gateway = "https://gateway.example/v1"
	for _, tt := range []struct {
		name    string
		base    string
		profile Profile
		url     string
		header  string
		key     string
		body    string // separated by spaces; "!" before what is missing
	}{
		{"zero", gateway, Profile{}, gateway, "Authorization", "Bearer of-openai", `"temperature":2 "stop": "stream_options":`},
		{"zero at a known host", "https://api.mistral.ai/v1", Profile{}, "https://api.mistral.ai/v1", "Authorization", "Bearer of-openai", `"temperature":1.5 !"stream_options":`},
		{"like", gateway, Profile{Like: "mistral"}, gateway, "Authorization", "Bearer of-openai", `"temperature":1.5 !"stream_options":`},
		{"address of like", "", Profile{Like: "mistral"}, "https://api.mistral.ai/v1", "Authorization", "Bearer of-openai", `"temperature":1.5`},
		{"key", gateway, Profile{Keys: []string{"MY_KEY"}, KeyHeader: "X-Key"}, gateway, "X-Key", "mine", ``},
		{"keyless", gateway, Profile{Keyless: true}, gateway, "Authorization", "", ``},
		{"fields", gateway, Profile{Limit: "most", Hottest: 1, Members: json.RawMessage(`{"mine":1}`), NoStreamOptions: true, NoStop: true}, gateway, "Authorization", "Bearer of-openai",
			`"most":7 "temperature":1 "mine":1 !"stream_options": !"stop":`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, body := ask(t, &Client{BaseURL: tt.base, Profile: &tt.profile}, "m")
			if got := r.URL.String(); got != tt.url+"/chat/completions" {
				t.Errorf("sent to %s", got)
			}
			if got := r.Header.Get(tt.header); got != tt.key {
				t.Errorf("%s: %q, want %q", tt.header, got, tt.key)
			}
			for _, want := range strings.Fields(tt.body) {
				absent, not := strings.CutPrefix(want, "!")
				if strings.Contains(body, absent) == not {
					t.Errorf("want %s in %s", want, body)
				}
			}
		})
	}
}

// Every field of a Profile changes the description of a host.
func TestProfileFields(t *testing.T) {
	for i := range reflect.TypeFor[Profile]().NumField() {
		name := reflect.TypeFor[Profile]().Field(i).Name
		var p Profile
		switch f := reflect.ValueOf(&p).Elem().Field(i); f.Kind() {
		case reflect.String:
			f.SetString("groq")
		case reflect.Bool:
			f.SetBool(true)
		case reflect.Float64:
			f.SetFloat(1)
		default:
			f.Set(reflect.MakeSlice(f.Type(), 1, 1))
		}
		got, err := p.whole("https://gateway.example/v1")
		if err != nil || reflect.DeepEqual(got, chat.ProfileAt("https://gateway.example/v1")) {
			t.Errorf("%s changes nothing: %v", name, err)
		}
	}
}

func TestUnknownHost(t *testing.T) {
	m := (&Client{APIKey: "k", Profile: &Profile{Like: "nobody"}}).Model("m")
	_, err := llm.Collect(t.Context(), m, &llm.Request{})
	var e *llm.APIError
	if !errors.As(err, &e) || e.Class != llm.Invalid || !strings.Contains(e.Message, `"nobody"`) || m.Name() != "m" {
		t.Fatal(err)
	}
	for _, p := range chat.Profiles() {
		if !slices.Contains(strings.FieldsFunc(e.Message, func(r rune) bool { return r == ' ' || r == ',' }), p.Name) {
			t.Errorf("%v does not name %s", e, p.Name)
		}
	}
}
