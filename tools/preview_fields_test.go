package tools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/openagent-go/agent/internal/toolapi"
	"github.com/openagent-go/agent/tool"
)

// A question shows what a call sets, schedules or keeps.
func TestPreviewFields(t *testing.T) {
	for _, tt := range []struct {
		tool        tool.Tool
		input, want string
	}{
		{newConfig(noSettings{}), `{"action":"set","key":"no_color","value":true}`, "setting: no_color\nvalue: true"},
		{newConfig(noSettings{}), `{"action":"set","key":"no_color","value":null}`, "setting: no_color\nvalue: null"},
		{newConfig(noSettings{}), `{"action":"list"}`, ""},
		{CronCreate(Crontab{Dir: "/w"}), `{"name":"j","schedule":"@daily","zone":"Europe/Berlin","command":"make"}`, "job: j\nschedule: @daily\ntime zone: Europe/Berlin\nfolder: /w\ncommand: make"},
		{CronCreate(Crontab{Dir: "/w"}), `{"name":"j","schedule":"@daily","prompt":"do\nschedule: never"}`, "job: j\nschedule: @daily\nfolder: /w\nprompt: do\n    schedule: never"},
		{newRemoteTrigger(Triggers{}), `{"action":"create","name":"n","prompt":"x","schedule":"@hourly","enabled":false}`, "action: create\ntrigger: n\nschedule: @hourly\nenabled: false\nprompt: x"},
		{newRemoteTrigger(Triggers{}), `{"action":"update","id":"i","schedule":"","url":"https://a.org","payload":{"a":1}}`, "action: update\nid: i\naddress: https://a.org\nschedule: none\npayload: {\"a\":1}"},
	} {
		p, ok := tt.tool.(tool.Previewer)
		if !ok {
			t.Fatalf("%s shows nothing", tt.tool.Spec().Name)
		}
		if got := p.Preview(tool.Call{Input: json.RawMessage(tt.input)}); got != strings.TrimSpace(tt.want) {
			t.Errorf("%s %s: %q, want %q", tt.tool.Spec().Name, tt.input, got, tt.want)
		}
	}
}

type noSettings struct{ toolapi.Settings }

func (noSettings) Known() []toolapi.Setting { return nil }
