package symbols

import (
	"regexp"
	"strings"
	"sync"
)

func is(kind, pattern string) look { return look{kind, regexp.MustCompile(pattern)} }

var cComments = []string{"//", "/*", "*"}

// languages cover the common forms in well-kept code, not all legal ones. They are made on
// first use: most programs never need them.
var languages = sync.OnceValue(func() []Language {
	return []Language{
		{
			Name: "go", exts: []string{".go"}, comments: cComments, within: goGroups,
			looks: []look{
				is("method", `^func\s+\([^)]*\)\s*(\w+)\s*[\[(]`),
				is("function", `^func\s+(\w+)\s*[\[(]`),
				is("interface", `^type\s+(\w+)(?:\[.*\])?\s+interface\b`),
				is("struct", `^type\s+(\w+)(?:\[.*\])?\s+struct\b`),
				is("type", `^type\s+(\w+)`),
				is("constant", `^const\s+(\w+)`),
				is("variable", `^var\s+(\w+)`),
			},
		},
		{
			Name: "typescript", exts: []string{".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs"}, comments: cComments,
			looks: []look{
				is("function", `^\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:async\s+)?function\s*\*?\s*([\w$]+)`),
				is("class", `^\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:abstract\s+)?class\s+([\w$]+)`),
				is("interface", `^\s*(?:export\s+)?(?:default\s+)?(?:declare\s+)?interface\s+([\w$]+)`),
				is("type", `^\s*(?:export\s+)?(?:declare\s+)?type\s+([\w$]+)[^=]*=`),
				is("enum", `^\s*(?:export\s+)?(?:declare\s+)?(?:const\s+)?enum\s+([\w$]+)`),
				is("namespace", `^\s*(?:export\s+)?(?:declare\s+)?(?:namespace|module)\s+([\w$]+)`),
				is("function", `^(?:export\s+)?(?:const|let|var)\s+([\w$]+)[^=]*=\s*(?:async\s*)?(?:function\b|\([^)]*\)[^=]*=>|[\w$]+\s*=>)`),
				is("variable", `^(?:export\s+)?(?:declare\s+)?(?:const|let|var)\s+([\w$]+)`),
				is("method", `^\s+(?:(?:public|private|protected|static|async|readonly|override|abstract|get|set)\s+)*\*?#?([\w$]+)\s*(?:<[^>]*>)?\([^;]*\)\s*(?::[^{;]+)?\{\s*$`),
			},
		},
		{
			Name: "python", exts: []string{".py", ".pyi"}, comments: []string{"#"},
			looks: []look{
				is("class", `^\s*class\s+(\w+)`),
				is("function", `^(?:async\s+)?def\s+(\w+)`),
				is("method", `^\s+(?:async\s+)?def\s+(\w+)`),
				is("variable", `^(\w+)\s*(?::[^=]+)?=[^=]`),
			},
		},
		{
			Name: "rust", exts: []string{".rs"}, comments: cComments,
			looks: []look{
				is("function", `^\s*(?:pub(?:\([^)]*\))?\s+)?(?:default\s+)?(?:const\s+)?(?:async\s+)?(?:unsafe\s+)?(?:extern\s+"[^"]*"\s+)?fn\s+(\w+)`),
				is("struct", `^\s*(?:pub(?:\([^)]*\))?\s+)?(?:struct|union)\s+(\w+)`),
				is("enum", `^\s*(?:pub(?:\([^)]*\))?\s+)?enum\s+(\w+)`),
				is("trait", `^\s*(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+)?(?:auto\s+)?trait\s+(\w+)`),
				is("type", `^\s*(?:pub(?:\([^)]*\))?\s+)?type\s+(\w+)`),
				is("module", `^\s*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+)`),
				is("constant", `^\s*(?:pub(?:\([^)]*\))?\s+)?(?:const|static)\s+(?:mut\s+)?(\w+)\s*:`),
				is("macro", `^\s*macro_rules!\s*(\w+)`),
			},
		},
		{
			Name: "c", exts: []string{".c", ".h", ".cc", ".cpp", ".cxx", ".hh", ".hpp", ".hxx"}, comments: cComments,
			looks: []look{
				is("macro", `^\s*#\s*define\s+(\w+)`),
				is("class", `^\s*(?:template\s*<[^>]*>\s*)?class\s+(?:\w+\s+)?(\w+)\s*(?:final\s*)?(?::[^:;]*)?(?:\{.*)?$`),
				is("struct", `^\s*(?:template\s*<[^>]*>\s*)?(?:typedef\s+)?(?:struct|union)\s+(\w+)\s*(?:final\s*)?(?::[^:;]*)?(?:\{.*)?$`),
				is("enum", `^\s*(?:typedef\s+)?enum\s+(?:class\s+|struct\s+)?(\w+)\s*(?::[^:;]*)?(?:\{.*)?$`),
				is("namespace", `^\s*(?:inline\s+)?namespace\s+([\w:]+)\s*(?:\{.*)?$`),
				is("type", `^\s*typedef\b.*?\(\s*\*\s*(\w+)\s*\)\s*\(.*;\s*$`),
				is("type", `^\s*typedef\b.*?(\w+)\s*;\s*$`),
				is("type", `^\s*using\s+(\w+)\s*=`),
				is("function", `^[A-Za-z_][\w\s*&:<>,]*?[\s*&]((?:\w+::)*~?\w+)\s*\([^;]*$`),
				is("function", `^((?:\w+::)+~?\w+)\s*\([^;]*$`),
				is("method", `^\s+(?:[\w:<>,*&]+\s+)*[*&]*(~?\w+)\s*\([^;]*\)\s*(?:const\s*)?(?:noexcept\s*)?(?:override\s*)?\{`),
			},
		},
		{
			Name: "java", exts: []string{".java"}, comments: cComments,
			looks: []look{
				is("class", `^\s*(?:(?:public|protected|private|static|final|abstract|sealed|non-sealed|strictfp)\s+)*(?:class|record)\s+(\w+)`),
				is("interface", `^\s*(?:(?:public|protected|private|static|abstract|sealed|non-sealed)\s+)*@?interface\s+(\w+)`),
				is("enum", `^\s*(?:(?:public|protected|private|static)\s+)*enum\s+(\w+)`),
				is("method", `^\s*(?:(?:public|protected|private|static|final|abstract|synchronized|native|default)\s+)+(?:<[^>]*>\s*)?(?:[\w<>\[\],.?]+\s+)*(\w+)\s*\(`),
				is("method", `^\s+(?:[\w<>\[\],.?]+\s+)+(\w+)\s*\([^;]*\)\s*(?:throws\s[^{]*)?\{\s*$`),
				is("field", `^\s*(?:(?:public|protected|private|static|final|volatile|transient)\s+)+[\w<>\[\],.?\s]+\s(\w+)\s*[=;]`),
			},
		},
		{
			Name: "ruby", exts: []string{".rb", ".rake"}, comments: []string{"#"},
			looks: []look{
				is("method", `^\s*def\s+(?:self\.)?(\w+[?!=]?)`),
				is("class", `^\s*class\s+((?:\w+::)*\w+)`),
				is("module", `^\s*module\s+((?:\w+::)*\w+)`),
				is("constant", `^\s*([A-Z]\w*)\s*=[^=~>]`),
			},
		},
		{
			Name: "shell", exts: []string{".sh", ".bash", ".zsh"}, comments: []string{"#"},
			looks: []look{
				is("function", `^\s*function\s+([\w:.-]+)`),
				is("function", `^\s*([\w:.-]+)\s*\(\)`),
				is("variable", `^(?:export\s+|readonly\s+|declare\s+(?:-\w+\s+)*)?([A-Za-z_]\w*)=`),
			},
		},
	}
})

var goMember = regexp.MustCompile(`^\t(\w+)(?:\s*,\s*\w+)*(\s|$|\[)`)

// goGroups finds the members of groups: const ( … ).
func goGroups() func(line string) (name, kind string) {
	kind := ""
	return func(line string) (string, string) {
		if strings.HasPrefix(line, ")") {
			kind = ""
			return "", ""
		}
		if kind == "" {
			for _, g := range [...][2]string{{"const", "constant"}, {"var", "variable"}, {"type", "type"}} {
				if rest, ok := strings.CutPrefix(line, g[0]); ok && strings.TrimSpace(rest) == "(" {
					kind = g[1]
				}
			}
			return "", ""
		}
		if m := goMember.FindStringSubmatch(strings.TrimRight(line, "\r")); m != nil && m[1] != "_" {
			return m[1], kind
		}
		return "", ""
	}
}
