package permission

import (
	"reflect"
	"testing"

	"github.com/openagent-go/agent/internal/fill"
	"github.com/openagent-go/agent/internal/rules"
)

// A conversion that leaves out a field would make a rule that holds nothing.
func TestConversionsLoseNothing(t *testing.T) {
	one := Policy{Mode: Plan, Allow: []Rule{"a"}, Ask: []Rule{"b"}, Deny: []Rule{"c"}, AllowConfined: true,
		Private: []string{"/d"}, Origins: []Origin{{Behavior: Denied, Rule: "c", From: "f"}}, Restriction: &Restriction{By: "g", Only: []Rule{"h"}}}
	want := rules.Policy{Mode: rules.Plan, Allow: []rules.Rule{"a"}, Ask: []rules.Rule{"b"}, Deny: []rules.Rule{"c"}, AllowConfined: true,
		Private: []string{"/d"}, Origins: []rules.Origin{{Behavior: rules.Denied, Rule: "c", From: "f"}}, Restriction: &rules.Restriction{By: "g", Only: []rules.Rule{"h"}}}
	want.Parents = []rules.Policy{want}
	if got := one.Within(one).engine(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	r := fill.New(reflect.TypeFor[Request]()).Interface().(Request).engine()
	for _, v := range []reflect.Value{reflect.ValueOf(want), reflect.ValueOf(r), reflect.ValueOf(r.Access[0])} {
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("%s.%s is lost", v.Type(), v.Type().Field(i).Name)
			}
		}
	}
}

func TestDecisionOfEngine(t *testing.T) {
	p := Policy{Deny: []Rule{"Read(*.env)"}, Origins: []Origin{{Behavior: Denied, Rule: "Read(*.env)", From: "settings.json:3"}}}
	d := p.Decide(Request{Tool: "Read", Dir: "/w", Access: []Access{{Kind: ReadFile, Target: "/w/a.env"}}})
	if d.Behavior != Denied || d.Source != "rule" || d.Rule != "Read(*.env)" || d.Origin != "settings.json:3" || d.Reason == "" {
		t.Errorf("got %+v", d)
	}
}
