//go:build unix

package sandbox

import (
	"strconv"
	"strings"
)

// seatbeltProfile is the policy in the language of sandbox-exec, in which the last
// rule that matches counts.
func seatbeltProfile(p confinement) string {
	var b strings.Builder
	rule := func(words ...string) { b.WriteString("(" + strings.Join(words, " ") + ")\n") }
	path := func(kind, name string) string { return "(" + kind + " " + strconv.Quote(name) + ")" }
	rule("version 1")
	rule("allow default")
	rule("deny signal")
	rule("allow signal (target same-sandbox)")
	rule("deny process-info* (target others)")
	rule("deny file-write*")
	for _, name := range []string{"/dev/null", "/dev/zero", "/dev/tty", "/dev/stdout", "/dev/stderr"} {
		rule("allow file-write*", path("literal", name))
	}
	rule("allow file-write*", path("subpath", "/dev/fd"))
	if p.Read != nil {
		rule("deny file-read*")
		rule("allow file-read-metadata")
		for _, name := range append([]string{"/System", "/Library", "/usr", "/bin", "/sbin", "/opt", "/dev", "/private/etc", "/private/var/db"}, p.Read...) {
			rule("allow file-read*", path("subpath", name))
		}
		rule("allow file-read*", path("literal", "/"))
	}
	for _, l := range p.layers() {
		at := path("subpath", l.path)
		switch l.state {
		case writes:
			rule("allow file-read* file-write*", at)
		case open:
			rule("allow file-read*", at)
			rule("deny file-write*", at)
		case hides:
			rule("deny file-read* file-write*", at)
		}
		for _, dir := range p.anchors(l.path) {
			rule("deny file-write-unlink", path("literal", dir))
		}
	}
	if !p.Network {
		rule("deny network*")
		if p.LocalBinding {
			rule(`allow network-bind network-inbound (local ip "localhost:*")`)
		}
	}
	return b.String()
}
