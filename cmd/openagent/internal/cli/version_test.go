package cli

import (
	"runtime/debug"
	"testing"
)

func TestVersionOf(t *testing.T) {
	const revision = "0123456789abcdef0123456789abcdef01234567"
	for _, c := range []struct{ version, revision, modified, want string }{
		{"v0.1.0", "", "", "v0.1.0"},            // go install …@v0.1.0
		{"v0.1.0", revision, "false", "v0.1.0"}, // built from the tag
		{"v0.1.0+dirty", revision, "true", "v0.1.0 modified"},
		{"v0.1.1-rc.1", revision, "false", "v0.1.1-rc.1"},
		{"v0.1.1-0.20261123105856-0123456789ab", revision, "false", "0123456789ab"},
		{"v0.1.1-0.20261123105856-0123456789ab+dirty", revision, "true", "0123456789ab modified"},
		{"v0.0.0-20261123105856-0123456789ab", "", "", "v0.0.0-20261123105856-0123456789ab"}, // go install …@main
		{"(devel)", revision, "true", "0123456789ab modified"},
		{"(devel)", "", "", "(devel)"},
		{"", "", "", "(devel)"},
	} {
		info := &debug.BuildInfo{Main: debug.Module{Version: c.version}}
		if c.revision != "" {
			info.Settings = []debug.BuildSetting{{Key: "vcs.revision", Value: c.revision}, {Key: "vcs.modified", Value: c.modified}}
		}
		if got := versionOf(info); got != c.want {
			t.Errorf("%q, %q, %q: %q, want %q", c.version, c.revision, c.modified, got, c.want)
		}
	}
}
