package proxy

import (
	"errors"
	"strings"
	"testing"
)

func TestRulesMatch(t *testing.T) {
	rules := Rules{
		Allow: []string{"example.com", "*.Example.org", "ports.example.net:443", "192.0.2.7", "[2001:db8::1]:80", "bücher.example", "localhost:8080"},
		Deny:  []string{"secret.example.org", "*.bad.example.org", "example.com:25"},
	}
	c, err := rules.compile()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		host    string
		port    int
		allowed bool
	}{
		{"example.com", 443, true},
		{"example.com", 22, true},
		{"EXAMPLE.com.", 443, true},
		{"example.com", 25, false},
		{"www.example.com", 443, false},
		{"notexample.com", 443, false},
		{"example.com.evil.test", 443, false},
		{"a.example.org", 443, true},
		{"a.b.example.org", 443, true},
		{"example.org", 443, false},
		{"secret.example.org", 443, false},
		{"x.bad.example.org", 443, false},
		{"ports.example.net", 443, true},
		{"ports.example.net", 80, false},
		{"192.0.2.7", 9, true},
		{"192.0.2.8", 9, false},
		{"2001:db8::1", 80, true},
		{"2001:0db8:0::1", 80, true},
		{"2001:db8::1", 81, false},
		{"xn--bcher-kva.example", 443, true},
		{"bücher.example", 443, true},
		{"localhost", 8080, true},
		{"localhost", 8081, false},
		{"3221225991", 9, false}, // 192.0.2.7 as some resolvers read it
		{"", 443, false},
		{"example.com\x00.evil.test", 443, false},
	} {
		p := &Proxy{rules: c}
		_, _, err := p.judge(tt.host, tt.port)
		if (err == nil) != tt.allowed {
			t.Errorf("%s:%d: %v, want allowed %v", tt.host, tt.port, err, tt.allowed)
		}
		var d *Denial
		if err != nil && !errors.As(err, &d) {
			t.Errorf("%s:%d: %T is no Denial", tt.host, tt.port, err)
		}
	}
}

func TestRulesAnyDomain(t *testing.T) {
	c, err := Rules{AnyDomain: true, Deny: []string{"*.com"}}.compile()
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{rules: c}
	for host, allowed := range map[string]bool{"example.org": true, "example.com": false, "192.0.2.7": false, "::1": false} {
		if _, _, err := p.judge(host, 443); (err == nil) != allowed {
			t.Errorf("%s: %v, want allowed %v", host, err, allowed)
		}
	}
}

func TestRulesCheck(t *testing.T) {
	for _, tt := range []struct{ pattern, says string }{
		{"example.com", ""}, {"*.example.com", ""}, {"*.github.io", ""}, {"[::1]:8080", ""}, {"::1", ""}, {"127.0.0.1", ""}, {"localhost", ""},
		{"*", "would allow every host"},
		{"*:443", "would allow every host"},
		{"*.com", "every host below com"},
		{"*.co.uk", "every host below co.uk"},
		{"*.local", "every host below local"},
		{"https://example.com", "slash"},
		{"example.com/x", "slash"},
		{"exa*mple.com", "neither a domain"},
		{"*.*.com", "neither a domain"},
		{"*.10.0.0.1", "neither a domain"},
		{"", "neither a domain"},
		{"a b", "neither a domain"},
		{"example.com:0", "port"},
		{"example.com:99999", "port"},
		{"example.com:http", "port"},
		{"2130706433", "neither a domain"},
	} {
		err := Rules{Allow: []string{tt.pattern}}.Check()
		if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%q: %v, want %q", tt.pattern, err, tt.says)
		}
	}
	if err := (Rules{Deny: []string{"*", "*.com"}}).Check(); err != nil {
		t.Errorf("wide patterns may deny: %v", err)
	}
	if err := (Rules{Deny: []string{"a/b"}}).Check(); err == nil {
		t.Errorf("a malformed pattern that denies: %v", err)
	}
}
