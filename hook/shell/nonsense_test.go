package shell_test

import (
	"strings"
	"testing"
	"time"

	"github.com/openagent-go/agent/hook"
	"github.com/openagent-go/agent/permission"
)

// A hook that guards and tries to answer in vain denies.
func TestNonsenseDenies(t *testing.T) {
	ws := space(t)
	for line, failure := range map[string]string{
		`echo '[]'`: "JSON value", `echo 1`: "JSON value", `echo '"allow"'`: "JSON value", `echo null`: "JSON value", `echo true`: "JSON value",
		`echo '[{"decision":"block"}]'`:                                                            "JSON value",
		`echo '{"decision":"block","decision":"approve"}'`:                                         "twice",
		`echo '{"decision":"block","Decision":"approve"}'`:                                         "twice",
		`echo '{"hookSpecificOutput":{"permissionDecision":"deny","permissionDecision":"allow"}}'`: "twice",
		`printf '\357\273\277{"decision":"block","reason":"no"}'`:                                  "byte order mark",
		`printf '\377\376{}'`:                                                                      "UTF-8",
		`printf '{\0"\0}\0'`:                                                                       "NUL",
		`echo loading rules; echo '{"decision":"block","reason":"no"}'`:                            "other text",
		`echo 'data: {"permissionDecision":"deny"}'`:                                               "other text",
		`echo '// x'; echo '{"permissionDecision":"deny"}'`:                                        "other text",
		`printf '\033[1m"decision"\033[0m: "block"'`:                                               "other text",
		`echo "x {'decision': 'block'}"`:                                                           "other text",
		`echo 'permissionDecision: deny'`:                                                          "other text",
		`echo '{"decision":"block"}'; echo done`:                                                   "more text",
		`echo '{"decision":"block"}{"decision":"approve"}'`:                                        "more text",
		`echo '{"permissionDecison":"deny"}'`:                                                      "no member",
		`echo '{"hookSpecificOutput":{"permissionDecisions":"deny"}}'`:                             "no member",
		`echo '{"permissionDecision":"deny"}' >&2`:                                                 "standard error",
		`echo '{decision: block}'`:                                                                 "reading its JSON",
	} {
		for _, e := range []hook.Event{hook.PreToolUse, hook.PermissionRequest, hook.UserPromptSubmit, hook.PreCompact} {
			out := run(t, ws, 30*time.Second, line, hook.Input{Event: e, Dir: ws.Root, Tool: "Bash"})
			if len(out.Errors) != 1 || !strings.Contains(out.Errors[0].Error(), failure) || !out.Block {
				t.Errorf("%s at %s: %+v", line, e, out)
			}
		}
	}
}

// Any output of a hook without a decision to make is valid.
func TestPlainOutputIsTaken(t *testing.T) {
	ws := space(t)
	for line, want := range map[string]hook.Output{
		`echo checked 3 rules`: {Message: "checked 3 rules"},
		`echo '{}'`:            {},
		`echo '{"asyncTimeout": 3, "version": {"decision": 1}}'`: {},
		`cat`: {},
		`echo '{"decision":"approve"}'; echo '{"decision":"block"}' >&2`: {Permission: permission.Allowed},
		`echo 'log: the decision is to be made' >&2`:                     {},
	} {
		out := run(t, ws, 30*time.Second, line, hook.Input{Event: hook.PreToolUse, Dir: ws.Root, Tool: "Bash"})
		if len(out.Errors) > 0 || out.Block || out.Message != want.Message || out.Permission != want.Permission {
			t.Errorf("%s: %+v", line, out)
		}
	}
	for line, want := range map[string]string{
		`echo 'Open issues: [{"id": 1, "reason": "slow"}]'`: `Open issues: [{"id": 1, "reason": "slow"}]`,
		`echo 'The decision is yours'`:                      "The decision is yours",
	} {
		for _, e := range []hook.Event{hook.UserPromptSubmit, hook.SessionStart} {
			if out := run(t, ws, 30*time.Second, line, hook.Input{Event: e, Dir: ws.Root}); len(out.Errors) > 0 || out.Context != want {
				t.Errorf("%s at %s: %+v", line, e, out)
			}
		}
	}
	if out := run(t, ws, 30*time.Second, "echo 1", hook.Input{Event: hook.SessionStart, Dir: ws.Root}); len(out.Errors) > 0 || out.Context != "1" {
		t.Errorf("%+v", out)
	}
}
