package effects

import (
	"slices"
	"strings"
)

// Which programs open the files that their arguments name.

// OpensNoFile reports whether a program opens no file, whatever its arguments are.
func OpensNoFile(name string) bool { return known().opensNoFile[name] }

// ChangesNoFile reports whether a program changes no file, whatever its arguments are.
func ChangesNoFile(name string) bool { return known().changesNoFile[name] }

// TakesList reports whether a file, or the input, says which files a command opens.
func TakesList(name string, args []string) bool {
	if known().fileList[name] || name == "git" && slices.ContainsFunc(args, func(a string) bool { return a == "apply" || a == "am" }) {
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

// IsTar reports whether a program is a tar.
func IsTar(name string) bool { return known().tars[name] }
