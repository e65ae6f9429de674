// Package custom makes tools out of executable files in folders.
//
// A file is asked what it is with the argument "describe" and answers on
// standard output with a JSON object, or with an array of them if it is several
// tools:
//
//	{"name": "weather", "title": "Weather", "description": "Tells the weather of a town.",
//	 "input_schema": {"type": "object", "properties": {"town": {"type": "string"}}, "required": ["town"]},
//	 "read_only": true, "non_destructive": true, "idempotent": true, "open_world": true, "timeout_ms": 10000}
//
// "needs_approval" is a JSON Schema: a person must approve the calls whose input satisfies
// it, see [tool.Spec].NeedsApproval. true is for all calls. The description of the schema
// is the reason that the person reads.
//
// All members are optional. A file with one tool names it, else the tool has
// the file's name without its extension; the tools of an array are called
// FILE_NAME. For a call the file is run with the argument "run", and the tool's
// name in the array where there is one, and reads the call on standard input:
//
//	{"id": "c4.0", "name": "weather", "input": {"town": "Oslo"}, "session": "0198…", "dir": "/work"}
//
// What it writes to standard output is the result: plain text, or an object
// with text or content and no other members than these:
//
//	{"text": "Rain.", "content": [{"type": "text", "text": "Rain."}], "title": "Oslo", "details": {"mm": 4}, "is_error": false}
//
// content holds text, images ({"type": "image", "media_type": "image/png",
// "data": BASE64}) and documents, or is a string; text is short for one block of
// it. Lines on standard error are shown as progress. An exit code that is not
// 0 makes the result an error and adds the end of standard error. A file runs
// in the working directory of the call, without secrets in its environment, and
// all that it has started ends with it. It cannot change mode, directory or
// rules of the run.
package custom

import (
	"context"
	"sync"

	"github.com/openagent-go/agent/internal/customtools"
	"github.com/openagent-go/agent/tool"
	"github.com/openagent-go/agent/workspace"
)

// ErrUntrusted is matched by the error that [Set].Warn gets for a folder that is not trusted.
var ErrUntrusted = customtools.ErrUntrusted

// A Folder is a place where tools are looked for. One that is not there has none.
type Folder struct {
	Path string // of the folder
	// Trusted: the folder is the user's own. Of any other the tools are loaded, and
	// their files started, only if [Set].Trusted agrees.
	Trusted bool
}

// A Set holds the tools of some folders. It implements [tool.Set]: it is asked at each
// prompt and sees changes since the last one. Its fields must not change after the first
// use; it is safe for concurrent use.
type Set struct {
	Workspace *workspace.Workspace // runs the files
	// Folders are looked at in order; of two tools with one name the later counts.
	Folders []Folder
	// Trusted is asked about folders that are not trusted, each time. Nil trusts none. dir
	// is absolute and without symlinks, files are the names of the files that are tools, and
	// sum is a hash of all files below dir, of their names and of their modes: with another
	// file it is another sum.
	Trusted func(dir string, files []string, sum string) bool
	// Builtin are the names, aliases too, of tools that the agent has already. A tool
	// of one of these names takes its place, and one whose name differs in case only
	// gets calls that are meant for it; both are warned about.
	Builtin []string
	// Warn is called with the mistakes in folders and files, each once. It may be nil.
	Warn func(error)

	once sync.Once
	set  *customtools.Set
}

// Tools returns the tools in the order of folders and file names. Broken and untrusted ones
// are left out with a warning; an error means that ctx has ended.
func (s *Set) Tools(ctx context.Context) ([]tool.Tool, error) {
	s.once.Do(s.open)
	return s.set.Tools(ctx)
}

func (s *Set) open() {
	s.set = &customtools.Set{Workspace: s.Workspace, Builtin: s.Builtin, Warn: s.Warn}
	for _, f := range s.Folders {
		s.set.Folders = append(s.set.Folders, customtools.Folder{Path: f.Path, Trusted: f.Trusted})
	}
	if s.Trusted != nil {
		s.set.Trusted = func(l customtools.Listing) bool { return s.Trusted(l.Dir, l.Files, l.Sum) }
	}
}
