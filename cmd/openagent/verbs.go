package main

import (
	"context"
	"slices"
	"strings"
)

// A verb is one of the things that a command does, by the word after its name.
type verb struct {
	name        string
	least, most int // arguments
	do          func(ctx context.Context, args []string) error
}

// A verbFlag is a flag that goes with some verbs of a command.
type verbFlag struct {
	given bool
	flag  string
	verbs []string
}

// goWith refuses flags that say nothing to a verb.
func goWith(command, verb string, flags []verbFlag) error {
	for _, f := range flags {
		if f.given && !slices.Contains(f.verbs, verb) {
			return usagef("%s goes with openagent %s %s", f.flag, command, strings.Join(f.verbs, ", "))
		}
	}
	return nil
}

// toolVerbs is a command whose verbs are about the tools of a run, with the flags of
// a run that are named. --all and --session say what over, which is for one of the
// verbs. The first verb is meant where there is no word; words are what may be written.
func toolVerbs(o *toolsOptions, command, words string, named []string, over, what string, verbs []verb) (flags, action) {
	fs := listFlags(&o.output)
	for _, f := range o.flags() {
		if slices.Contains(named, f.name) {
			fs = append(fs, f)
		}
	}
	fs = append(fs,
		flag{name: "all", help: "with " + over + ": " + what + " the sessions of all folders", set: yes(&o.all)},
		flag{name: "session", arg: "ID", help: "with " + over + ": " + what + " one session", set: text(&o.session)})
	return fs, func(ctx context.Context, args []string) error {
		name := verbs[0].name
		if len(args) > 0 {
			name, args = args[0], args[1:]
		}
		format := o.output
		if err := o.check(); err != nil {
			return err
		}
		o.output = format
		err := goWith(command, name, []verbFlag{{o.all, "--all", []string{over}}, {o.session != "", "--session", []string{over}}})
		if err != nil {
			return err
		}
		for _, v := range verbs {
			if v.name == name && len(args) >= v.least && len(args) <= v.most {
				return v.do(ctx, args)
			}
		}
		return usagef("write openagent %s %s", command, words)
	}
}
