package tools

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openagent-go/agent/internal/glob"
	"github.com/openagent-go/agent/internal/text"
)

// A filter chooses the files that Grep searches. The zero value takes all that
// are not hidden.
type filter struct {
	include []*glob.Pattern // one must match, if there are any
	exclude []*glob.Pattern // none may match, nor a folder above
	kind    *glob.Pattern   // must match, if set
}

// newFilter reads the members glob and type of an input. Its errors are for the model.
func newFilter(globs, kind string) (*filter, error) {
	f := &filter{}
	for _, g := range splitGlobs(globs) {
		text, excluded := strings.CutPrefix(g, "!")
		rooted := strings.TrimPrefix(text, "/")
		if !strings.Contains(strings.TrimSuffix(text, "/"), "/") {
			rooted = "**/" + text
		}
		p, err := glob.Parse(rooted)
		if err != nil {
			return nil, fmt.Errorf("the glob %q is not valid: %w", g, err)
		}
		if p.Hidden = excluded; excluded {
			f.exclude = append(f.exclude, p)
		} else {
			f.include = append(f.include, p)
		}
	}
	if kind == "" {
		return f, nil
	}
	names, ok := fileTypes[strings.ToLower(strings.TrimPrefix(kind, "."))]
	if !ok {
		return nil, unknownType(kind)
	}
	var err error
	f.kind, err = glob.Parse("**/{" + strings.ReplaceAll(names, " ", ",") + "}")
	if err != nil {
		return nil, fmt.Errorf("reading the type %q: %w", kind, err)
	}
	f.kind.Hidden = true
	return f, nil
}

func unknownType(kind string) error {
	names := slices.Sorted(maps.Keys(fileTypes))
	hint := ""
	if n := text.Nearest(kind, names); n != "" {
		hint = fmt.Sprintf(" (did you mean %q?)", n)
	}
	return fmt.Errorf("the type %q is not known%s; known are %s; for others use glob", kind, hint, strings.Join(names, ", "))
}

// splitGlobs splits at spaces and commas outside of braces.
func splitGlobs(s string) []string {
	depth, escaped := 0, false
	return strings.FieldsFunc(s, func(r rune) bool {
		if escaped {
			escaped = false
			return false
		}
		switch r {
		case '\\':
			escaped = true
		case '{':
			depth++
		case '}':
			depth--
		case ',', ' ', '\t', '\n':
			return depth <= 0
		}
		return false
	})
}

// enter reports whether a folder may hold files to search.
func (f *filter) enter(folder string) bool {
	match := func(p *glob.Pattern) bool { return p.Match(folder) }
	if slices.ContainsFunc(f.exclude, match) {
		return false
	}
	if len(f.include) == 0 {
		return !hiddenName(folder)
	}
	return slices.ContainsFunc(f.include, func(p *glob.Pattern) bool { return p.Enter(folder) })
}

// want reports whether a file is to be searched.
func (f *filter) want(path string) bool {
	match := func(p *glob.Pattern) bool { return p.Match(path) }
	switch {
	case slices.ContainsFunc(f.exclude, match), f.kind != nil && !f.kind.Match(path):
		return false
	case len(f.include) == 0:
		return !hiddenName(path)
	}
	return slices.ContainsFunc(f.include, match)
}

// hiddenName reports whether the last name of a path begins with a dot.
func hiddenName(path string) bool {
	return strings.HasPrefix(path[strings.LastIndexByte(path, '/')+1:], ".")
}

// fileTypes are the globs of names by type, as ripgrep calls the types.
var fileTypes = map[string]string{
	"asm":        "*.asm *.s *.S",
	"bash":       "*.sh *.bash .bashrc .bash_profile",
	"bazel":      "*.bzl *.bazel BUILD WORKSPACE",
	"c":          "*.c *.h",
	"clojure":    "*.clj *.cljc *.cljs *.edn",
	"cmake":      "*.cmake CMakeLists.txt",
	"cpp":        "*.cpp *.cc *.cxx *.c++ *.hpp *.hh *.hxx *.h++ *.h *.inl",
	"cs":         "*.cs",
	"csharp":     "*.cs",
	"css":        "*.css *.scss *.sass *.less",
	"csv":        "*.csv",
	"dart":       "*.dart",
	"docker":     "*Dockerfile* *.dockerfile",
	"elixir":     "*.ex *.exs *.eex *.heex *.leex",
	"elm":        "*.elm",
	"erlang":     "*.erl *.hrl",
	"fsharp":     "*.fs *.fsx *.fsi",
	"go":         "*.go",
	"gradle":     "*.gradle *.gradle.kts",
	"graphql":    "*.graphql *.graphqls *.gql",
	"groovy":     "*.groovy *.gradle",
	"h":          "*.h *.hh *.hpp",
	"haskell":    "*.hs *.lhs",
	"html":       "*.html *.htm *.xhtml",
	"ini":        "*.ini *.cfg *.conf",
	"java":       "*.java *.jsp *.properties",
	"js":         "*.js *.jsx *.mjs *.cjs *.vue",
	"json":       "*.json *.jsonl *.jsonc *.json5 composer.lock",
	"jsonl":      "*.jsonl",
	"julia":      "*.jl",
	"jupyter":    "*.ipynb",
	"kotlin":     "*.kt *.kts",
	"less":       "*.less",
	"lock":       "*.lock package-lock.json pnpm-lock.yaml go.sum",
	"log":        "*.log",
	"lua":        "*.lua",
	"make":       "*.mk *.mak [Mm]akefile GNUmakefile",
	"markdown":   "*.md *.markdown *.mdown *.mdx *.mkd",
	"md":         "*.md *.markdown *.mdown *.mdx *.mkd",
	"nix":        "*.nix",
	"objc":       "*.m *.h",
	"ocaml":      "*.ml *.mli *.mll *.mly",
	"perl":       "*.pl *.pm *.t *.PL",
	"php":        "*.php *.phtml *.php3 *.php4 *.php5",
	"proto":      "*.proto",
	"protobuf":   "*.proto",
	"ps":         "*.ps1 *.psm1 *.psd1",
	"py":         "*.py *.pyi",
	"python":     "*.py *.pyi",
	"r":          "*.r *.R *.Rmd *.Rnw",
	"rst":        "*.rst",
	"ruby":       "*.rb *.rake *.gemspec *.rbw Gemfile Rakefile config.ru",
	"rust":       "*.rs",
	"sass":       "*.sass *.scss",
	"scala":      "*.scala *.sbt",
	"sh":         "*.sh *.bash *.zsh *.ksh *.fish *.csh *.tcsh .bashrc .zshrc .profile",
	"sol":        "*.sol",
	"sql":        "*.sql *.psql",
	"svelte":     "*.svelte",
	"svg":        "*.svg",
	"swift":      "*.swift",
	"terraform":  "*.tf *.tfvars *.tf.json",
	"tex":        "*.tex *.ltx *.cls *.sty *.bib",
	"tf":         "*.tf *.tfvars *.tf.json",
	"toml":       "*.toml Cargo.lock",
	"ts":         "*.ts *.tsx *.mts *.cts",
	"typescript": "*.ts *.tsx *.mts *.cts",
	"txt":        "*.txt",
	"vim":        "*.vim .vimrc vimrc",
	"vue":        "*.vue",
	"xml":        "*.xml *.xsd *.xsl *.xslt *.rng *.dtd",
	"yaml":       "*.yaml *.yml",
	"zig":        "*.zig",
}
