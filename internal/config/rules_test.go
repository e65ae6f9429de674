package config

import (
	"strings"
	"testing"

	"github.com/openagent-go/agent/permission"
)

// Each rule keeps the layer, file and line that it was written in, and a decision
// names them.
func TestRuleSources(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.Trusted = all
	p.write(User, "{\"permissions\": {\n\"allow\": [\n\"Bash(go *)\",\n\"Bash(make)\"]}}")
	p.write(Project, `{"permissions":{"ask":["Bash(make)"],"deny":["Bash(curl *)"]}}`)
	p.write(Managed, "{\n\n\"permissions\":{\"deny\":[\"Bash(curl *)\"]}}")
	p.Given = []Given{{Flags, "--allowed-tools", "permissions.allow", raw(`["Bash(go *)","Read"]`)}}
	s := p.load()
	for line, want := range map[string]string{
		"go test":  "--allowed-tools",
		"make":     "settings.json:1 (project)",
		"curl x.y": ":3 (managed)",
	} {
		d := s.Policy().Decide(permission.Request{Tool: "Bash", Dir: p.Dir, Access: []permission.Access{{Kind: permission.RunCommand, Target: line}}})
		if !strings.HasSuffix(d.Origin, want) || !strings.Contains(d.Reason, d.Rule+" of "+d.Origin) {
			t.Errorf("%s: %+v, want an origin of %s", line, d, want)
		}
	}
	var got []string
	for _, r := range s.Rules() {
		got = append(got, string(r.Behavior)+" "+string(r.Rule)+" "+string(r.Source.Scope))
	}
	if want := "deny Bash(curl *) managed, deny Bash(curl *) project, ask Bash(make) project, allow Bash(go *) flags, allow Read flags, allow Bash(go *) user, allow Bash(make) user"; strings.Join(got, ", ") != want {
		t.Errorf("got %v", got)
	}
	if r := s.Rules()[6]; r.Source.Line != 4 || !r.Counts {
		t.Errorf("%+v", r)
	}
}

// With allowManagedPermissionRulesOnly the rules that allow are those of other
// layers that managed settings list; what forbids stays. Other layers cannot say so,
// and a managed rule allows nothing by itself.
func TestManagedRulesOnly(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	p.Trusted = all
	p.write(Managed, `{"allowManagedPermissionRulesOnly":true,"permissions":{"allow":["Bash(go *)","Bash(npm *)"],"ask":["Bash(git push *)"]}}`)
	p.write(User, `{"permissions":{"allow":["Bash(go *)","Bash(make)"],"deny":["Bash(rm *)"]}}`)
	p.write(Local, `{"permissions":{"allow":["Bash"],"ask":["Bash(go get *)"]}}`)
	p.Given = []Given{{Flags, "--allowed-tools", "permissions.allow", raw(`["Bash(make)"]`)}}
	want := map[string]permission.Behavior{"go test": permission.Allowed, "npm i": permission.Asked, "make": permission.Asked, "rm x": permission.Denied, "go get x": permission.Asked, "git push": permission.Asked}
	judge := func(s *Settings, line string) permission.Behavior {
		return s.Policy().Decide(permission.Request{Tool: "Bash", Dir: p.Dir, Access: []permission.Access{{Kind: permission.RunCommand, Target: line}}}).Behavior
	}
	s := p.load()
	for line, b := range want {
		if got := judge(s, line); got != b {
			t.Errorf("%s: %s, want %s", line, got, b)
		}
	}
	for _, r := range s.Rules() {
		if r.Behavior == permission.Allowed && r.Counts != (r.Rule == "Bash(go *)" && r.Source.Scope == User) {
			t.Errorf("%+v", r)
		}
	}
	if err := s.PermitsRule("Bash(make)"); err == nil || !strings.Contains(err.Error(), ":1") {
		t.Errorf("Bash(make): %v", err)
	}
	if err := s.PermitsRule("Bash(npm *)"); err != nil {
		t.Error(err)
	}
	p.write(Managed, `{"permissions":{"allow":["Bash(npm *)"]}}`)
	if err := p.load().PermitsRule("Bash(make)"); err != nil {
		t.Error(err)
	}
	p.write(User, `{"allowManagedPermissionRulesOnly":true}`)
	if s = p.load(); judge(s, "make") != permission.Allowed || judge(s, "npm i") != permission.Allowed { // by the local rule for Bash
		t.Error("a user's file takes the place of managed settings")
	}
	p.write(Local, `{}`)
	if s = p.load(); judge(s, "npm i") == permission.Allowed {
		t.Error("a managed rule allows")
	}
}
