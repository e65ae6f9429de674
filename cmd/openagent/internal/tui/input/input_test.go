package input

import (
	"reflect"
	"testing"
)

func TestNames(t *testing.T) {
	for name, want := range map[string]Key{
		"a":          {Code: 'a', Text: "a"},
		"A":          {Code: 'a', Text: "A", Shift: true},
		"+":          {Code: '+', Text: "+"},
		"ctrl++":     {Code: '+', Ctrl: true},
		"语":          {Code: '语', Text: "语"},
		"space":      {Code: Space, Text: " "},
		"ctrl+space": {Code: Space, Ctrl: true},
		"ctrl+c":     {Code: 'c', Ctrl: true},
		"alt+enter":  {Code: Enter, Alt: true},
		"shift+tab":  {Code: Tab, Shift: true},
		"ctrl+left":  {Code: Left, Ctrl: true},
		"f12":        {Code: F12},
	} {
		got, ok := Parse(name)
		if !ok || got != want {
			t.Errorf("Parse(%q) = %+v, %v, want %+v", name, got, ok, want)
		}
		if s := got.String(); s != name {
			t.Errorf("%+v is named %q, want %q", got, s, name)
		}
	}
	for _, name := range []string{"", "meta+x", "ctrl+xx"} {
		if k, ok := Parse(name); ok {
			t.Errorf("Parse(%q) = %+v", name, k)
		}
	}
}

func TestIs(t *testing.T) {
	for _, c := range []struct {
		key  Key
		code rune
		mods Mod
		want bool
	}{
		{Key{Code: 'c', Ctrl: true}, 'c', Ctrl, true},
		{Key{Code: 'c', Ctrl: true}, 'c', 0, false},
		{Key{Code: 'c', Ctrl: true, Shift: true}, 'c', Ctrl, false},
		{Key{Code: '?', Text: "?", Shift: true}, '?', 0, true},
		{Key{Code: Enter}, Enter, Shift, false},
		{Key{Code: Enter, Shift: true}, Enter, Shift, true},
	} {
		if got := c.key.Is(c.code, c.mods); got != c.want {
			t.Errorf("%+v is %q with %d: %v, want %v", c.key, c.code, c.mods, got, c.want)
		}
	}
}

func TestType(t *testing.T) {
	want := []Key{{Code: 'h', Text: "H", Shift: true}, {Code: 'i', Text: "i"}, {Code: Enter}}
	if got := Type("Hi\n"); !reflect.DeepEqual(got, want) {
		t.Errorf("Type = %+v, want %+v", got, want)
	}
}
