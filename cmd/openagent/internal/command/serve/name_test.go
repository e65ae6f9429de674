package serve

import (
	"net"
	"regexp"
	"strings"
	"testing"
)

// Browsers get a name that nobody can guess, where it leads to the server and has no other use.
func TestNameForBrowsers(t *testing.T) {
	const token = "0123456789abcdef0123456789abcdef"
	for _, c := range []struct {
		at   string
		o    options
		want bool
	}{
		{"127.0.0.1:4777", options{}, true},
		{"[::1]:4777", options{}, true},
		{"127.0.0.1:4777", options{hosts: []string{"agents.example.com", "localhost.example.com"}}, true},
		{"127.0.0.2:4777", options{}, false},
		{"0.0.0.0:4777", options{}, false},
		{"192.0.2.1:4777", options{}, false},
		{"127.0.0.1:4777", options{cert: "cert.pem"}, false},
		{"127.0.0.1:4777", options{behindProxy: true}, false},
		{"127.0.0.1:4777", options{hosts: []string{"agents.example.com", "LOCALHOST:8000"}}, false},
		{"127.0.0.1:4777", options{hosts: []string{"127.0.0.1"}}, false},
		{"127.0.0.1:4777", options{hosts: []string{"[::1]:8000"}}, false},
	} {
		at, err := net.ResolveTCPAddr("tcp", c.at)
		if err != nil {
			t.Fatal(err)
		}
		got := c.o.forBrowsers(at, token)
		if (got != "") != c.want || c.want && !regexp.MustCompile(`^openagent-[0-9a-f]{16}\.localhost:4777$`).MatchString(got) {
			t.Errorf("%s %v: %q", c.at, c.o.hosts, got)
		}
		if got != "" && got == c.o.forBrowsers(at, strings.ToUpper(token)) {
			t.Error("the name does not depend on the token")
		}
	}
}
