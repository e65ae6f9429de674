package main

import (
	"context"
	"fmt"
	"strings"
)

func completionCommand(h *host) (flags, action) {
	return nil, func(_ context.Context, args []string) error {
		switch strings.Join(args, " ") {
		case "bash":
			return h.show(bashCompletion(h))
		case "zsh":
			return h.show(zshCompletion(h))
		case "fish":
			return h.show(fishCompletion(h))
		}
		return usagef("write openagent completion bash, zsh or fish")
	}
}

// flagsOf returns the flags of a command as completion offers them.
func flagsOf(h *host, c command) flags {
	if c.prepare == nil {
		return nil
	}
	fs, _ := c.prepare(h)
	return append(fs, flag{name: "help", short: 'h', help: "show this"})
}

// choices are the words that can follow the name of a command.
func (c command) choices() []string {
	if c.name == "help" {
		return commandNames()
	}
	return c.words
}

func longNames(fs flags) string {
	var names []string
	for _, f := range fs {
		names = append(names, "--"+f.name)
	}
	return strings.Join(names, " ")
}

func bashCompletion(h *host) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# bash completion for openagent: source <(openagent completion bash)\n_openagent() {\n  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} flags words\n")
	b.WriteString("  case $prev in\n")
	for _, f := range flagsOf(h, root()) {
		switch {
		case f.words != nil:
			fmt.Fprintf(&b, "    --%s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return;;\n", f.name, strings.Join(f.words, " "))
		case f.path:
			fmt.Fprintf(&b, "    --%s) COMPREPLY=($(compgen -f -- \"$cur\")); return;;\n", f.name)
		}
	}
	b.WriteString("  esac\n  case ${COMP_WORDS[1]} in\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "    %s) flags='%s' words='%s';;\n", c.name, longNames(flagsOf(h, c)), strings.Join(c.choices(), " "))
	}
	fmt.Fprintf(&b, "    *) flags='%s';;\n  esac\n", longNames(flagsOf(h, root())))
	fmt.Fprintf(&b, "  [ \"$COMP_CWORD\" -eq 1 ] && words='%s'\n", strings.Join(commandNames(), " "))
	b.WriteString("  [ -n \"$words\" ] && [ \"${cur#-}\" = \"$cur\" ] && flags=$words\n")
	b.WriteString("  COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))\n}\ncomplete -o default -F _openagent openagent\n")
	return b.String()
}

func zshCompletion(h *host) string {
	var b strings.Builder
	b.WriteString("#compdef openagent\n# zsh completion for openagent: openagent completion zsh > a folder of $fpath/_openagent\n_openagent() {\n  local -a names\n")
	b.WriteString("  if (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n    names=(\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "      %s\n", quote(c.name+":"+c.summary))
	}
	b.WriteString("    )\n    _describe command names\n    return\n  fi\n  case $words[2] in\n")
	for _, c := range commands() {
		if fs := flagsOf(h, c); len(fs) > 0 {
			fmt.Fprintf(&b, "    %s) _arguments%s", c.name, zshFlags(fs))
			if words := c.choices(); words != nil {
				b.WriteString(" " + quote("2:argument:("+strings.Join(words, " ")+")"))
			}
			b.WriteString(";;\n")
		}
	}
	fmt.Fprintf(&b, "    *) _arguments%s '*:prompt:';;\n  esac\n}\n", zshFlags(flagsOf(h, root())))
	b.WriteString("if [ \"$funcstack[1]\" = _openagent ]; then _openagent \"$@\"; else compdef _openagent openagent; fi\n")
	return b.String()
}

func zshFlags(fs flags) string {
	var b strings.Builder
	escape := strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`)
	for _, f := range fs {
		spec := "--" + f.name + "[" + escape.Replace(f.help) + "]"
		switch {
		case f.words != nil:
			spec += ":value:(" + strings.Join(f.words, " ") + ")"
		case f.path:
			spec += ":path:_files"
		case f.arg != "":
			spec += ":value:"
		}
		b.WriteString(" " + quote(spec))
	}
	return b.String()
}

func fishCompletion(h *host) string {
	var b strings.Builder
	b.WriteString("# fish completion for openagent: openagent completion fish | source\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "complete -c openagent -n __fish_use_subcommand -f -a %s -d %s\n", c.name, quote(c.summary))
		for _, word := range c.choices() {
			fmt.Fprintf(&b, "complete -c openagent -n %s -f -a %s\n", quote("__fish_seen_subcommand_from "+c.name), word)
		}
		for _, f := range flagsOf(h, c) {
			b.WriteString("complete -c openagent -n " + quote("__fish_seen_subcommand_from "+c.name) + fishFlag(f))
		}
	}
	for _, f := range flagsOf(h, root()) {
		b.WriteString("complete -c openagent -n " + quote("not __fish_seen_subcommand_from "+strings.Join(commandNames(), " ")) + fishFlag(f))
	}
	return b.String()
}

func fishFlag(f flag) string {
	s := " -l " + f.name
	if f.short != 0 {
		s += " -s " + string(f.short)
	}
	switch {
	case f.words != nil:
		s += " -x -a " + quote(strings.Join(f.words, " "))
	case f.path:
		s += " -r"
	case f.arg != "":
		s += " -x"
	}
	return s + " -d " + quote(f.help) + "\n"
}

// quote makes a single word of the shell out of text.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
