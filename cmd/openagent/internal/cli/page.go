package cli

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Page returns the help page of the command at path.
func (c Command) Page(path string) string {
	var b strings.Builder
	c.writeUsage(&b, path)
	fmt.Fprintf(&b, "\n%s.\n%s", c.Summary, c.Details)
	c.writeCommands(&b, path)
	b.WriteString("\nExamples:\n")
	for _, e := range c.examples() {
		fmt.Fprintf(&b, "  %s\n", e)
	}
	switch {
	case c.Common != nil:
		b.WriteString("\nCommon flags:\n")
		c.allFlags().Named(c.Common...).usage(&b)
	case c.Run != nil:
		b.WriteString("\nFlags:\n")
		c.allFlags().usage(&b)
	}
	if c.Footer != "" {
		b.WriteString("\n" + c.Footer)
	}
	return b.String()
}

// FlagsPage returns a page with all flags of the command.
func (c Command) FlagsPage() string {
	var b strings.Builder
	c.writeUsage(&b, c.Name)
	b.WriteString("\nFlags:\n")
	c.allFlags().usage(&b)
	return b.String()
}

func (c Command) writeUsage(b *strings.Builder, path string) {
	if c.Run == nil {
		fmt.Fprintf(b, "Usage: %s [COMMAND] [flags]\n", path)
		return
	}
	before := "Usage:"
	for form := range strings.SplitSeq(c.Args, " | ") {
		fmt.Fprintf(b, "%s %s\n", before, strings.TrimSpace(path+" [flags] "+form))
		before = "      "
	}
}

// writeCommands lists the subcommands.
func (c Command) writeCommands(b *strings.Builder, path string) {
	if len(c.Subcommands) == 0 {
		return
	}
	left := make([]string, len(c.Subcommands))
	width := 0
	for i, s := range c.Subcommands {
		left[i] = s.Name
		if c.Run == nil {
			first, _, _ := strings.Cut(s.Args, " | ")
			left[i] = strings.TrimSpace(s.Name + " " + first)
		}
		width = max(width, utf8.RuneCountInString(left[i]))
	}
	b.WriteString("\nCommands:\n")
	for i, s := range c.Subcommands {
		fmt.Fprintf(b, "  %-*s  %s", width, left[i], s.Summary)
		if s.Name == c.Default {
			b.WriteString(" (default)")
		}
		b.WriteString("\n")
	}
	if c.Common == nil {
		fmt.Fprintf(b, "\n%s COMMAND --help shows the flags of a command.\n", path)
	}
}

// examples returns the examples of the command; for a group, the first example of each subcommand.
func (c Command) examples() []string {
	if c.Run != nil {
		return c.Examples
	}
	var all []string
	for _, s := range c.Subcommands {
		all = append(all, s.examples()[:1]...)
	}
	return all
}
