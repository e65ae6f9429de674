package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// module returns the folder of the module that holds a package, from the root of the repository,
// and whether the workspace of the root has it.
func module(root, folder string) (dir string, workspace bool) {
	for dir = folder; dir != "."; dir = filepath.ToSlash(filepath.Dir(dir)) {
		if _, err := os.Stat(filepath.Join(root, dir, "go.mod")); err == nil {
			break
		}
	}
	return dir, dir == "." || dir == "cmd/openagent"
}

// goCommand prepares a go command about a package, and returns the package's name for it.
func goCommand(ctx context.Context, root, folder string, args ...string) (*exec.Cmd, string) {
	dir, workspace := module(root, folder)
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "GOFLAGS=-trimpath")
	if workspace {
		cmd.Env = append(cmd.Env, "GOWORK=") // also if this command was started with another one
		return cmd, "./" + folder
	}
	cmd.Dir = filepath.Join(root, dir)
	cmd.Env = append(cmd.Env, "GOWORK=off")
	rest := strings.TrimPrefix(strings.TrimPrefix(folder, dir), "/")
	return cmd, "./" + rest
}

// overlay writes changed files and the list of them that the go command reads.
func overlay(root, folder string, files map[string]string) (string, error) {
	replace := map[string]string{}
	for file, text := range files {
		path := filepath.Join(folder, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, file)] = path
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	list := filepath.Join(folder, "overlay.json")
	return list, os.WriteFile(list, data, 0o600)
}

// An outcome is what the tests of a guard did.
type outcome struct {
	failed, passed, skipped []string
	// unbuilt is what the compiler said, if it said no.
	unbuilt string
}

func (o *outcome) add(more outcome) {
	o.failed = append(o.failed, more.failed...)
	o.passed = append(o.passed, more.passed...)
	o.skipped = append(o.skipped, more.skipped...)
	if o.unbuilt == "" {
		o.unbuilt = more.unbuilt
	}
}

// test runs tests of one package and says how each of them ended.
// Without names it runs all tests and lists those that failed.
func test(ctx context.Context, root, folder, list string, names []string) (outcome, error) {
	args := []string{"test", "-json", "-vet=off"}
	if list != "" {
		args = append(args, "-timeout=2m", "-overlay="+list, "-count=1") // a guard may be all that ends a test
	}
	if len(names) > 0 {
		args = append(args, "-run="+pattern(names))
	}
	cmd, pkg := goCommand(ctx, root, folder, args...)
	cmd.Args = append(cmd.Args, pkg)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return outcome{}, fmt.Errorf("testing %s: %w", folder, err)
	}

	var o outcome
	ends := map[string]string{}
	ran := map[string]bool{}
	var build strings.Builder
	packageFailed := false
	lines := json.NewDecoder(&stdout)
	for lines.More() {
		var line struct{ Action, Test, Output, FailedBuild string }
		if err := lines.Decode(&line); err != nil {
			return outcome{}, fmt.Errorf("reading the results of %s: %w", folder, err)
		}
		switch line.Action {
		case "build-output":
			build.WriteString(line.Output)
		case "run":
			ran[line.Test] = true
		case "pass", "fail", "skip":
			if line.Test != "" {
				ends[line.Test] = line.Action
			} else if line.Action == "fail" {
				packageFailed = true
				if line.FailedBuild != "" {
					o.unbuilt = build.String() + stderr.String()
				}
			}
		}
	}
	if err != nil && !packageFailed && o.unbuilt == "" {
		o.unbuilt = build.String() + stderr.String()
	}
	if o.unbuilt != "" {
		return o, nil
	}
	if len(names) == 0 {
		for name := range ran {
			if ends[name] == "fail" || ends[name] == "" && packageFailed {
				o.failed = append(o.failed, title(folder, name))
			}
		}
		slices.Sort(o.failed)
		return o, nil
	}
	for _, name := range names {
		full := title(folder, name)
		switch end := ends[name]; {
		case end == "pass":
			o.passed = append(o.passed, full)
		// A test that ended the whole program, or hung, has no end of its own.
		case end == "fail", end == "" && ran[name] && packageFailed:
			o.failed = append(o.failed, full)
		default:
			o.skipped = append(o.skipped, full)
		}
	}
	return o, nil
}

// pattern is the -run pattern of exactly these tests. Parts of a test run with the whole test,
// unless they are all that is asked for.
func pattern(names []string) string {
	var tops []string
	deep := len(names) == 1
	for _, name := range names {
		top, _, _ := strings.Cut(name, "/")
		if !slices.Contains(tops, top) {
			tops = append(tops, top)
		}
	}
	if deep {
		var parts []string
		for part := range strings.SplitSeq(names[0], "/") {
			parts = append(parts, "^"+quote(part)+"$")
		}
		return strings.Join(parts, "/")
	}
	for i, top := range tops {
		tops[i] = quote(top)
	}
	return "^(" + strings.Join(tops, "|") + ")$"
}

// quote escapes what a regular expression would take for itself.
func quote(name string) string {
	var b strings.Builder
	for _, r := range name {
		if strings.ContainsRune(`\.+*?()|[]{}^$`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// byPackage groups tests by their package, in order.
func byPackage(tests []Test) (folders []string, names map[string][]string) {
	names = map[string][]string{}
	for _, t := range tests {
		if _, ok := names[t.Package]; !ok {
			folders = append(folders, t.Package)
		}
		if !slices.Contains(names[t.Package], t.Name) {
			names[t.Package] = append(names[t.Package], t.Name)
		}
	}
	return folders, names
}

// programs is how many programs the simulator runs for a guard.
const programs = "1000"

// simulate runs the simulator without a guard and returns whether it notices that.
func simulate(ctx context.Context, root string, g Guard) (Answer, error) {
	files, err := g.mutate(root)
	if err != nil {
		return "", err
	}
	folder, err := os.MkdirTemp("", "guards-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(folder)
	list, err := overlay(root, folder, files)
	if err != nil {
		return "", err
	}
	cmd, pkg := goCommand(ctx, root, "internal/sim", "test", "-vet=off", "-timeout=3m", "-failfast", "-overlay="+list, "-run=^TestPrograms$")
	cmd.Args = append(cmd.Args, pkg, "-args", "-seed=1", "-seeds="+programs, "-shrink=0s")
	out, err := cmd.CombinedOutput()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		if bytes.Contains(out, []byte("[build failed]")) {
			return "", fmt.Errorf("the simulator does not compile:\n%s", out)
		}
		return Notices, nil
	}
	return Silent, err
}

// tryGuard runs the tests of a guard without the guard. With whole it runs all tests of its test packages.
func tryGuard(ctx context.Context, root string, g Guard, whole bool) (outcome, error) {
	files, err := g.mutate(root)
	if err != nil {
		return outcome{}, err
	}
	folder, err := os.MkdirTemp("", "guards-")
	if err != nil {
		return outcome{}, err
	}
	defer os.RemoveAll(folder)
	list, err := overlay(root, folder, files)
	if err != nil {
		return outcome{}, err
	}
	var total outcome
	folders, names := byPackage(g.Tests)
	if len(folders) == 0 {
		folders, whole = g.packages(), true
	}
	for _, folder := range folders {
		tests := names[folder]
		if whole {
			tests = nil
		}
		o, err := test(ctx, root, folder, list, tests)
		if err != nil {
			return outcome{}, err
		}
		total.add(o)
	}
	return total, nil
}

// title is how a test is named for people.
func title(folder, name string) string {
	if folder == "." {
		folder = "agent"
	}
	return folder + "." + name
}
