package cli

import (
	"fmt"
	"strings"

	"github.com/openagent-go/agent/internal/text"
)

// Shells are the shells that Completion supports.
var Shells = []string{"bash", "zsh", "fish", "powershell"}

// Completion returns the completion script of root for a shell.
func Completion(root Command, shell string) (string, error) {
	switch shell {
	case "bash":
		return bash(root), nil
	case "zsh":
		return zsh(root), nil
	case "fish":
		return fish(root), nil
	case "powershell":
		return powershell(root), nil
	}
	return "", Usagef("no completion for the shell %q%s; write %s completion %s", Clip(shell), Suggestion(shell, Shells), root.Name, Choice(Shells))
}

// words returns the arguments that completion offers for c.
func (c Command) words() []string { return append(c.Names(), c.Choices...) }

// completed returns the flags that completion offers for c. For a group these are the flags of its
// default.
func (c Command) completed() Flags {
	if d, ok := c.subcommand(c.Default); ok {
		return d.allFlags().shown()
	}
	return c.allFlags().shown()
}

func longNames(fs Flags) string {
	var names []string
	for _, f := range fs {
		names = append(names, "--"+f.Name)
	}
	return strings.Join(names, " ")
}

// subcommandPaths lists the paths of all commands below root.
func subcommandPaths(root Command) []string {
	var paths []string
	root.Walk(func(path string, _ Command) {
		if path != root.Name {
			paths = append(paths, path)
		}
	})
	return paths
}

// quoted quotes texts for a POSIX shell and joins them with sep.
func quoted(texts []string, sep string) string {
	words := make([]string, len(texts))
	for i, t := range texts {
		words[i] = text.QuoteShell(t)
	}
	return strings.Join(words, sep)
}

func bash(root Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# bash completion for %[1]s: source <(%[1]s completion bash)
_%[1]s() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} path=%[1]s flags words i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$path ${COMP_WORDS[i]}" in
      %[2]s) path+=" ${COMP_WORDS[i]}";;
      *) [ "$path" = %[1]s ] && break;;
    esac
  done
  case "$path:$prev" in
`, root.Name, quoted(subcommandPaths(root), "|"))
	root.Walk(func(path string, c Command) {
		for _, f := range c.completed() {
			switch {
			case f.Words != nil:
				fmt.Fprintf(&b, "    %s) COMPREPLY=($(compgen -W '%s' -- \"$cur\")); return;;\n", text.QuoteShell(path+":--"+f.Name), strings.Join(f.Words, " "))
			case f.Path:
				fmt.Fprintf(&b, "    %s) COMPREPLY=($(compgen -f -- \"$cur\")); return;;\n", text.QuoteShell(path+":--"+f.Name))
			}
		}
	})
	b.WriteString("  esac\n  case $path in\n")
	root.Walk(func(path string, c Command) {
		words := c.words()
		if c.Run != nil && c.Subcommands != nil {
			words = nil // offered only as the first word
		}
		fmt.Fprintf(&b, "    %s) flags='%s' words='%s';;\n", text.QuoteShell(path), longNames(c.completed()), strings.Join(words, " "))
	})
	fmt.Fprintf(&b, "  esac\n  [ \"$COMP_CWORD\" -eq 1 ] && words='%s'\n", strings.Join(root.Names(), " "))
	b.WriteString("  [ -n \"$words\" ] && [ \"${cur#-}\" = \"$cur\" ] && flags=$words\n")
	fmt.Fprintf(&b, "  COMPREPLY=($(compgen -W \"$flags\" -- \"$cur\"))\n}\ncomplete -o default -F _%[1]s %[1]s\n", root.Name)
	return b.String()
}

func zsh(root Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, `#compdef %[1]s
# zsh completion for %[1]s: %[1]s completion zsh > a folder of $fpath/_%[1]s
_%[1]s() {
  local -a names
  local at=%[1]s i
  for ((i = 2; i < CURRENT; i++)); do
    case "$at $words[i]" in
      %[2]s) at+=" $words[i]";;
      *) [[ $at = %[1]s ]] && break;;
    esac
  done
  case $at in
`, root.Name, quoted(subcommandPaths(root), "|"))
	root.Walk(func(path string, c Command) {
		fmt.Fprintf(&b, "    %s)\n", text.QuoteShell(path))
		if len(c.Subcommands) > 0 {
			when := "$words[CURRENT] != -*"
			if c.Run != nil {
				when += " && CURRENT -eq 2"
			}
			fmt.Fprintf(&b, "      if [[ %s ]]; then\n        names=(", when)
			for _, s := range c.Subcommands {
				b.WriteString(" " + text.QuoteShell(s.Name+":"+s.Summary))
			}
			b.WriteString(")\n        _describe command names\n        return\n      fi\n")
		}
		rest := "*:argument:_files"
		if c.Choices != nil {
			rest = "*:argument:(" + strings.Join(c.Choices, " ") + ")"
		}
		fmt.Fprintf(&b, "      _arguments%s %s;;\n", zshFlags(c.completed()), text.QuoteShell(rest))
	})
	fmt.Fprintf(&b, "  esac\n}\nif [ \"$funcstack[1]\" = _%[1]s ]; then _%[1]s \"$@\"; else compdef _%[1]s %[1]s; fi\n", root.Name)
	return b.String()
}

func zshFlags(fs Flags) string {
	var b strings.Builder
	escape := strings.NewReplacer("[", `\[`, "]", `\]`, ":", `\:`)
	for _, f := range fs {
		spec := "--" + f.Name + "[" + escape.Replace(f.Help) + "]"
		switch {
		case f.Words != nil:
			spec += ":value:(" + strings.Join(f.Words, " ") + ")"
		case f.Path:
			spec += ":path:_files"
		case f.Arg != "":
			spec += ":value:"
		}
		b.WriteString(" " + text.QuoteShell(spec))
	}
	return b.String()
}

func fish(root Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# fish completion for %[1]s: %[1]s completion fish | source
function __fish_%[1]s_at
    set -l at %[1]s
    for word in (commandline -opc)[2..-1]
        if contains -- "$at $word" %[2]s
            set at "$at $word"
        else if test "$at" = %[1]s
            break
        end
    end
    test "$at" = "$argv"
end
`, root.Name, quoted(subcommandPaths(root), " "))
	root.Walk(func(path string, c Command) {
		at := "complete -c " + root.Name + " -n " + text.QuoteShell("__fish_"+root.Name+"_at "+path)
		first := at
		if path == root.Name {
			first = "complete -c " + root.Name + " -n 'test (count (commandline -opc)) -eq 1'"
		}
		for _, s := range c.Subcommands {
			fmt.Fprintf(&b, "%s -f -a %s -d %s\n", first, s.Name, text.QuoteShell(s.Summary))
		}
		for _, word := range c.Choices {
			fmt.Fprintf(&b, "%s -f -a %s\n", at, word)
		}
		for _, f := range c.completed() {
			b.WriteString(at + fishFlag(f))
		}
	})
	return b.String()
}

func fishFlag(f Flag) string {
	s := " -l " + f.Name
	if f.Short != 0 {
		s += " -s " + string(f.Short)
	}
	switch {
	case f.Words != nil:
		s += " -x -a " + text.QuoteShell(strings.Join(f.Words, " "))
	case f.Path:
		s += " -r"
	case f.Arg != "":
		s += " -x"
	}
	return s + " -d " + text.QuoteShell(f.Help) + "\n"
}

// powershell writes one table entry per command: its words, its flags, and the values of flags that
// have a fixed list.
func powershell(root Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# PowerShell completion for %[1]s: %[1]s completion powershell | Out-String | Invoke-Expression\n", root.Name)
	fmt.Fprintf(&b, "Register-ArgumentCompleter -Native -CommandName %s -ScriptBlock {\n  param($word, $line, $position)\n  $table = @{\n", root.Name)
	root.Walk(func(path string, c Command) {
		fmt.Fprintf(&b, "    %s = @{ words = %s; flags = %s; values = @{", psQuote(path), psList(c.words()), psList(strings.Fields(longNames(c.completed()))))
		for _, f := range c.completed() {
			if f.Words != nil {
				fmt.Fprintf(&b, " %s = %s;", psQuote("--"+f.Name), psList(f.Words))
			}
		}
		b.WriteString(" } }\n")
	})
	fmt.Fprintf(&b, `  }
  $before = @($line.CommandElements | Where-Object { $_.Extent.EndOffset -lt $position } | ForEach-Object { $_.ToString() })
  $at = '%[1]s'
  foreach ($w in $before | Select-Object -Skip 1) {
    if ($table.ContainsKey("$at $w")) { $at = "$at $w" } elseif ($at -eq '%[1]s') { break }
  }
  $entry = $table[$at]
  $offer = if ($before.Count -gt 0 -and $entry.values.ContainsKey($before[-1])) { $entry.values[$before[-1]] }
    elseif ($word.StartsWith('-')) { $entry.flags }
    elseif ($at -ne '%[1]s' -or $before.Count -eq 1) { $entry.words }
  $offer | Where-Object { $_ -like "$word*" } | ForEach-Object { [System.Management.Automation.CompletionResult]::new($_, $_, 'ParameterValue', $_) }
}
`, root.Name)
	return b.String()
}

// psQuote quotes text as a single-quoted PowerShell string.
func psQuote(s string) string { return "'" + strings.ReplaceAll(s, "'", "''") + "'" }

func psList(words []string) string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = psQuote(w)
	}
	return "@(" + strings.Join(list, ", ") + ")"
}
