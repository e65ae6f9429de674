package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/openagent-go/agent"
	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/internal/toolrun"
	"github.com/openagent-go/agent/permission"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/tool/tooltest"
)

func testSettings(t *testing.T) *toolapi.SettingsFile {
	return &toolapi.SettingsFile{Path: filepath.Join(t.TempDir(), "home", "settings.json"), Settings: []toolapi.Setting{
		{Key: "model", Type: "string", Default: json.RawMessage(`"sonnet"`), Description: "the model", Check: func(v json.RawMessage) error {
			if string(v) == `"none"` {
				return errors.New("there is no such model")
			}
			return nil
		}},
		{Key: "loud", Type: "boolean"}, {Key: "turns", Type: "integer"}, {Key: "share", Type: "number"}, {Key: "names", Type: "array"}, {Key: "any"},
	}}
}

func TestConfig(t *testing.T) {
	f := testSettings(t)
	c := newConfig(f)
	for _, step := range []struct{ input, want string }{
		{`{"action":"get","key":"model"}`, `model = "sonnet" (default)`},
		{`{"action":"get","key":"any"}`, `any = null (default)`},
		{`{"action":"set","key":"model","value":"opus"}`, `Saved. model = "opus" (user file)`},
		{`{"action":"get","key":"model"}`, `model = "opus" (user file)`},
		{`{"action":"set","key":"model","value":null}`, `Saved. model = "sonnet" (default)`},
		{`{"action":"set","key":"model","value":5}`, "must be of type string, not integer"},
		{`{"action":"set","key":"model","value":"none"}`, "no such model"},
		{`{"action":"set","key":"model","value":"\"opus\""}`, `Saved. model = "opus" (user file)`},
		{`{"action":"set","key":"model","value":"\"none\""}`, "no such model"},
		{`{"action":"set","key":"model","value":"5"}`, `Saved. model = "5" (user file)`},
		{`{"action":"set","key":"loud","value":"true"}`, "loud = true"},
		{`{"action":"set","key":"loud","value":"perhaps"}`, "must be of type boolean, not string"},
		{`{"action":"set","key":"turns","value":3}`, "turns = 3"},
		{`{"action":"set","key":"turns","value":3.5}`, "must be of type integer, not number"},
		{`{"action":"set","key":"share","value":3}`, "share = 3"},
		{`{"action":"set","key":"names","value":"[\"a\"]"}`, `names = ["a"]`},
		{`{"action":"set","key":"any","value":{"deep":[1,{"a":null}]}}`, `any = {"deep":[1,{"a":null}]}`},
		{`{"action":"set","key":"any","value":"true"}`, `any = "true"`},
		{`{"action":"set","key":"modle","value":"opus"}`, `no setting "modle"; there are model, loud`},
		{`{"action":"set","key":"model"}`, "value is missing"},
		{`{"action":"get"}`, "key is missing"},
		{`{"action":"drop"}`, "action"},
		{`{}`, "action"},
		{`{"action":"list"}`, "share = 3 (user file)"},
		{fmt.Sprintf(`{"action":"set","key":"any","value":%q}`, strings.Repeat("x", maxSetting)), "at most 65536"},
	} {
		if got := tooltest.Run(t, c, step.input).Text(); !strings.Contains(got, step.want) {
			t.Errorf("%.80s: %.200q, want %q", step.input, got, step.want)
		}
	}
	if runtime.GOOS != "windows" {
		if info, err := os.Stat(f.Path); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v", info.Mode(), err)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(f.Path))
	if err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestConfigContract(t *testing.T) { tooltest.Check(t, newConfig(testSettings(t))) }

// Unknown settings stay in the file, and an unreadable file stays as it is.
func TestSettingsFileIsKept(t *testing.T) {
	f := testSettings(t)
	c := newConfig(f)
	put := func(text string) {
		if err := errors.Join(os.MkdirAll(filepath.Dir(f.Path), 0o700), os.WriteFile(f.Path, []byte(text), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	put(`{"other":{"n":12345678901234567890.10,"x":"<&>"},"model":"opus"}`)
	if r := tooltest.Run(t, c, `{"action":"set","key":"loud","value":true}`); r.IsError {
		t.Fatal(r.Text())
	}
	var members map[string]json.RawMessage
	data, err := os.ReadFile(f.Path)
	if err != nil || json.Unmarshal(data, &members) != nil || !strings.Contains(string(members["other"]), "12345678901234567890.10") || len(members) != 3 {
		t.Errorf("%s, %v", data, err)
	}
	for _, bad := range []string{`{"model":`, `[]`, `{"model":5}`, strings.Repeat(" ", toolapi.MaxSettingsFile+1)} {
		put(bad)
		if r := tooltest.Run(t, c, `{"action":"get","key":"model"}`); !r.IsError || !strings.Contains(r.Text(), f.Path) {
			t.Errorf("%.20q: %s", bad, r.Text())
		}
	}
	put(`{"model":`)
	if r := tooltest.Run(t, c, `{"action":"set","key":"loud","value":true}`); !r.IsError {
		t.Error("a broken file was replaced")
	}
	if data, _ := os.ReadFile(f.Path); string(data) != `{"model":` {
		t.Errorf("the broken file became %s", data)
	}
}

func TestSettingsPrecedence(t *testing.T) {
	f := testSettings(t)
	f.Project = filepath.Join(t.TempDir(), "settings.json")
	c := newConfig(f)
	set := func(want string) {
		t.Helper()
		if got := tooltest.Run(t, c, `{"action":"set","key":"model","value":"mine"}`).Text(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	set(`Saved. model = "mine" (user file)`)
	if err := os.WriteFile(f.Project, []byte(`{"model":"theirs"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	set(`Saved. model = "theirs" (project file), which counts before what was saved.`)
	f.Fixed = map[string]toolapi.SettingValue{"model": {Value: json.RawMessage(`"flagged"`), Source: "--model"}}
	set(`Saved. model = "flagged" (--model), which counts before what was saved.`)
	if data, err := os.ReadFile(f.Project); err != nil || string(data) != `{"model":"theirs"}` {
		t.Errorf("the project's file became %s, %v", data, err)
	}
}

func TestSettingsFileLink(t *testing.T) {
	f := testSettings(t)
	target := filepath.Join(t.TempDir(), "real.json")
	if err := errors.Join(os.MkdirAll(filepath.Dir(f.Path), 0o700), os.WriteFile(target, []byte("{}"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, f.Path); err != nil {
		t.Skip(err)
	}
	if err := f.Set("loud", json.RawMessage("true")); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(f.Path)
	data, err2 := os.ReadFile(target)
	if err != nil || err2 != nil || info.Mode()&os.ModeSymlink == 0 || !strings.Contains(string(data), "loud") {
		t.Errorf("%v, %s, %v, %v", info.Mode(), data, err, err2)
	}
}

// Changes made at the same time are all there.
func TestSettingsAtOnce(t *testing.T) {
	f := testSettings(t)
	var wg sync.WaitGroup
	for _, in := range []string{`"loud","value":true`, `"turns","value":2`, `"share","value":0.5`, `"any","value":1`} {
		wg.Go(func() {
			if r := tooltest.Run(t, newConfig(f), `{"action":"set","key":`+in+`}`); r.IsError {
				t.Error(r.Text())
			}
		})
	}
	wg.Wait()
	members, err := toolapi.ReadSettings(f.Path)
	if err != nil || len(members) != 4 {
		t.Errorf("%s, %v", members, err)
	}
}

// Looking needs no permission, a change does, and rules name the key.
func TestConfigPermission(t *testing.T) {
	f := testSettings(t)
	if c := toolrun.Classify(newConfig(f), tool.Call{Input: json.RawMessage(`{"action":"set","value":1}`)}); len(c.Access) > 0 || c.ConfirmReason != "" {
		t.Errorf("without a key it asks for %+v", c)
	}
	for _, c := range []struct {
		policy permission.Policy
		input  string
		ok     bool
	}{
		{permission.Policy{}, `{"action":"list"}`, true},
		{permission.Policy{Mode: permission.Plan}, `{"action":"get","key":"loud"}`, true},
		{permission.Policy{}, `{"action":"set","key":"loud","value":true}`, false},
		{permission.Policy{Mode: permission.AcceptEdits}, `{"action":"set","key":"loud","value":true}`, false},
		{permission.Policy{Mode: permission.Auto}, `{"action":"set","key":"model","value":"x"}`, false},
		{permission.Policy{Mode: permission.Bypass}, `{"action":"set","key":"model","value":"x"}`, false},
		{permission.Policy{Mode: permission.Auto}, `{"action":"get","key":"model"}`, true},
		{permission.Policy{Allow: []permission.Rule{"Config(loud)"}}, `{"action":"set","key":"loud","value":true}`, true},
		{permission.Policy{Allow: []permission.Rule{"Config(loud)"}}, `{"action":"set","key":"model","value":"x"}`, false},
		{permission.Policy{Mode: permission.Bypass, Deny: []permission.Rule{"Config(model)"}}, `{"action":"set","key":"model","value":"x"}`, false},
	} {
		a := &agent.Agent{Tools: []tool.Tool{newConfig(f)}, Permissions: c.policy}
		r, err := a.CallTool(t.Context(), "Config", json.RawMessage(c.input))
		if err != nil || r.IsError == c.ok {
			t.Errorf("%+v, %s: %v, %v", c.policy, c.input, r, err)
		}
	}
	if members, err := toolapi.ReadSettings(f.Path); err != nil || len(members) != 1 {
		t.Errorf("%s, %v", members, err)
	}
}
