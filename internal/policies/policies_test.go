package policies

import (
	"reflect"
	"testing"
	"time"

	"github.com/openagent-go/agent/internal/fill"
	"github.com/openagent-go/agent/internal/rules"
	"github.com/openagent-go/agent/permission"
)

// A conversion that leaves out a field would make a rule that holds nothing.
func TestConversionsLoseNothing(t *testing.T) {
	p := permission.Policy{Mode: permission.Plan, Allow: []permission.Rule{"a"}, Ask: []permission.Rule{"b"}, Deny: []permission.Rule{"c"}, AllowConfined: true,
		Private: []string{"/d"}, Origins: []permission.Origin{{Behavior: permission.Denied, Rule: "c", From: "f"}}, Restriction: &permission.Restriction{By: "g", Only: []permission.Rule{"h"}}}
	want := rules.Policy{Mode: rules.Plan, Allow: []rules.Rule{"a"}, Ask: []rules.Rule{"b"}, Deny: []rules.Rule{"c"}, AllowConfined: true,
		Private: []string{"/d"}, Origins: []rules.Origin{{Behavior: rules.Denied, Rule: "c", From: "f"}}, Restriction: &rules.Restriction{By: "g", Only: []rules.Rule{"h"}}}
	parent := want
	want.Parents = []rules.Policy{parent}
	if got := policy(p.Within(p)); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	noZero(t, reflect.ValueOf(want))

	r := fill.New(reflect.TypeFor[permission.Request]()).Interface().(permission.Request)
	got := request(&r)
	noZero(t, reflect.ValueOf(got))
	noZero(t, reflect.ValueOf(got.Access[0]))

	d := fill.New(reflect.TypeFor[rules.Decision]()).Interface().(rules.Decision)
	back := decision(&d)
	if back.Behavior != permission.Behavior(d.Behavior) || back.Reason != d.Reason || string(back.Source) != string(d.Source) || back.Rule != d.Rule || back.Origin != d.Origin {
		t.Errorf("%+v became %+v", d, back)
	}
}

// noZero fails for each field of a struct that is zero.
func noZero(t *testing.T, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Errorf("%s.%s is lost", v.Type(), v.Type().Field(i).Name)
		}
	}
}

// The words of both packages are the same, so that a decision of the engine means what the
// program reads.
func TestWords(t *testing.T) {
	for _, c := range []struct{ engine, public string }{
		{string(rules.Allowed), string(permission.Allowed)}, {string(rules.Denied), string(permission.Denied)}, {string(rules.Asked), string(permission.Asked)},
		{string(rules.FromRule), string(FromRule)}, {string(rules.FromMode), string(FromMode)},
		{string(rules.ReadFile), string(permission.ReadFile)}, {string(rules.EditFile), string(permission.EditFile)}, {string(rules.RunCommand), string(permission.RunCommand)},
		{string(rules.FetchURL), string(permission.FetchURL)}, {string(rules.UseName), string(permission.UseName)},
		{string(rules.Default), string(permission.Default)}, {string(rules.Plan), string(permission.Plan)}, {string(rules.AcceptEdits), string(permission.AcceptEdits)},
		{string(rules.Auto), string(permission.Auto)}, {string(rules.DontAsk), string(permission.DontAsk)}, {string(rules.Bypass), string(permission.Bypass)},
	} {
		if c.engine != c.public {
			t.Errorf("the engine says %q, the program %q", c.engine, c.public)
		}
	}
	for _, m := range Modes {
		if got, err := permission.ParseMode(string(m)); err != nil || got != m {
			t.Errorf("%s: %v", m, err)
		}
	}
}

func TestExpired(t *testing.T) {
	now := time.Now()
	for end, want := range map[time.Time]bool{{}: false, now: true, now.Add(-1): true, now.Add(1): false} {
		if got := Expired(permission.Decision{Expires: end}, now); got != want {
			t.Errorf("%v: %v", end, got)
		}
	}
}

// concealing is a Decider that hides one file.
type concealing string

func (concealing) Decide(permission.Request) permission.Decision { return permission.Decision{} }
func (c concealing) Conceals(path string) bool                   { return path == string(c) }
func (c concealing) ConcealsIn(string) bool                      { return true }

// What a Decider conceals is hidden, also inside of a Composite.
func TestUnreadable(t *testing.T) {
	u := Unreadable(permission.Policy{}, []permission.Decider{permission.DenyList("x"), permission.Composite(permission.ReadOnly(), concealing("/judged"))})
	if !u.Hides("/judged", "/w") || u.Hides("/other", "/w") {
		t.Error("a Decider inside of a Composite conceals nothing, or too much")
	}
	if u := Unreadable(permission.Policy{}, []permission.Decider{permission.DenyList("x")}); u != nil {
		t.Error("something is hidden where nobody conceals")
	}
}
