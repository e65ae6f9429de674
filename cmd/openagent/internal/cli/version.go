package cli

import (
	"cmp"
	"regexp"
	"runtime/debug"
	"strings"
)

// Version returns the version of the program: the tag it was built from, else the commit.
// "modified" follows if files were changed since. "(devel)" stands for an unknown version.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "(devel)"
	}
	return versionOf(info)
}

// VersionNumber returns the version as a number, such as 1.2.3. A commit is a build of 0.0.0.
func VersionNumber() string {
	version, _, _ := strings.Cut(Version(), " ")
	if number, ok := strings.CutPrefix(version, "v"); ok {
		return number
	}
	return "0.0.0+" + strings.Trim(version, "()")
}

// pseudoVersion matches the end of a version that was made from a commit.
var pseudoVersion = regexp.MustCompile(`\d{14}-[0-9a-f]{12}(\+dirty)?$`)

const shortRevision = 12 // characters

func versionOf(info *debug.BuildInfo) string {
	version := cmp.Or(info.Main.Version, "(devel)")
	revision, modified := "", false
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value
		case "vcs.modified":
			modified = s.Value == "true"
		}
	}
	tag, dirty := strings.CutSuffix(version, "+dirty")
	if revision != "" && (tag == "(devel)" || pseudoVersion.MatchString(version)) {
		tag = revision[:min(len(revision), shortRevision)]
	}
	if dirty || modified {
		return tag + " modified"
	}
	return tag
}
