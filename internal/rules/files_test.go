package rules

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/openagent-go/agent/internal/rules/paths"
)

func TestRequestFiles(t *testing.T) {
	dir := paths.RealPath(t.TempDir())
	for _, tt := range []struct {
		line          string
		read, written []string
		all           bool
	}{
		{"cat a /etc/passwd", []string{"/etc/passwd", dir + "/a"}, nil, true},
		{"cd sub && cat < x > ../y", []string{dir + "/sub/x"}, []string{dir + "/sub/../y"}, true},
		{"echo /etc/passwd", nil, nil, true},
		{"sh -c 'tee --output=/o < /i'", []string{"/i", "/o"}, nil, true},
		{"cat $x", nil, nil, false},
		{"echo x > $out", nil, nil, false},
		{"tar -cf /t -T /list", []string{"/list", "/t"}, nil, false},
		{"cat /e/{a,b}", []string{"/e/a", "/e/b"}, nil, true},
		{"f() {", nil, nil, false},
	} {
		read, written, all := Request{Tool: "Bash", Dir: dir, Access: []Access{{Kind: RunCommand, Target: tt.line}}}.Files()
		for _, want := range tt.read {
			if !slices.ContainsFunc(read, func(f string) bool { return filepath.Clean(f) == filepath.Clean(want) }) {
				t.Errorf("%s: read %q, want %q", tt.line, read, want)
			}
		}
		if all != tt.all || len(written) != len(tt.written) || tt.read == nil && all && len(read) > 0 {
			t.Errorf("%s: read %q, written %q, all %v", tt.line, read, written, all)
		}
	}
}
