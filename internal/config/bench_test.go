package config

import "testing"

// BenchmarkLoad is what settings cost at the start of a run.
func BenchmarkLoad(b *testing.B) {
	o := Options{Dir: b.TempDir(), Home: b.TempDir()}
	for _, scope := range []Scope{User, Project, Local} {
		f, _ := o.File(scope)
		for key, value := range map[string]string{"permissions.deny": `["Bash(rm *)","Read(//etc/**)","Bash(curl *)"]`, "model": `"claude-haiku-4-5"`, "env.A": `"b"`, "max_turns": "7"} {
			if _, err := Set(b.Context(), f, key, raw(value)); err != nil {
				b.Fatal(err)
			}
		}
	}
	for b.Loop() {
		if _, err := Load(o); err != nil {
			b.Fatal(err)
		}
	}
}
