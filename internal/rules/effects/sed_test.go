package effects

import (
	"testing"

	"github.com/openagent-go/agent/internal/rules/shellword"
)

func TestReadSed(t *testing.T) {
	for script, want := range map[string]string{
		"p": "ok", "1,$p": "ok", "/a/,/b/d": "ok", "s/a/b/g": "ok", `s/\//b/`: "ok", "s|a|b|;p": "ok", "\\,a,p": "ok", "/a/{s/b/c/;p}": "ok", "$!N;P;D": "ok", ":a;N;ba": "ok", "a\\\nw f": "ok", "a w f": "ok", "y/a/b/": "ok", "# w f": "ok", "0~2p": "ok",
		"w f": "ok w:f", "/x/w f": "ok w:f", "s/a/b/gw f;p": "ok w:f;p", "r f": "ok r:f", "p\nW f": "ok w:f", "/a/{r f\n}": "ok r:f",
		"e": "ok runs", "1e x": "ok runs", "s/a/b/ge": "ok runs", "p;e x": "ok runs", "a\\\nb\ne x": "ok runs", "}e x": "",
		"pp": "", "s/a/b": "", "s/a": "", "/a": "", "k": "", "s/a/b/x": "", shellword.Unknown: "", "s/a/" + shellword.Unknown + "/": "",
	} {
		x, ok := readSed(script)
		got := ""
		if ok {
			got = "ok"
		}
		for _, f := range x.writes {
			got += " w:" + f
		}
		for _, f := range x.reads {
			got += " r:" + f
		}
		if x.runs {
			got += " runs"
		}
		if (want == "") == ok || ok && got != want {
			t.Errorf("%q: %q, want %q", script, got, want)
		}
	}
}
