package effects

import (
	"slices"
	"strings"

	"github.com/openagent-go/agent/permission/internal/shellword"
)

// Which programs open the files that their arguments name.

// fileless are commands that open no file, whatever their arguments.
var fileless = strings.Fields("echo printf true false : test [ exit return break continue shift sleep seq basename dirname pwd whoami type which wait kill export declare typeset local readonly cd eval trap set unset read")

// showing are programs that change no file, whatever their arguments.
var showing = strings.Fields("cat head tail wc nl tac rev fold cut paste comm cmp diff stat file du df ls grep egrep fgrep md5sum sha1sum sha256sum sha512sum readlink realpath od hexdump strings tr")

var IsFileless, IsShowing = shellword.SetOf(fileless), shellword.SetOf(showing)

// TakesList reports whether a file, or the input, says which files a command opens.
func TakesList(name string, args []string) bool {
	if name == "cpio" || name == "pax" || name == "patch" || name == "git" && slices.ContainsFunc(args, func(a string) bool { return a == "apply" || a == "am" }) {
		return true
	}
	tar := IsTar(name)
	for i, a := range args {
		switch {
		case strings.HasPrefix(a, "--"):
			if strings.HasPrefix(a, "--files") && strings.HasPrefix("--files-from", a) && name != "rg" || strings.HasPrefix(a, "--files-from=") || strings.HasPrefix(a, "--files0-from") {
				return true
			}
		case a == "-files0-from", a == "-@" && name == "zip",
			tar && (i == 0 || strings.HasPrefix(a, "-")) && strings.Contains(a, "T"):
			return true
		}
	}
	return false
}

var tars = []string{"tar", "bsdtar", "gtar"}

// IsTar reports whether a program is a tar.
func IsTar(name string) bool { return slices.Contains(tars, name) }
