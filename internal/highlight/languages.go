package highlight

import (
	"strings"
	"sync"
)

// form says how a language is read.
type form byte

const (
	programForm form = iota
	keyForm          // keys at the beginning of lines
	markupForm
	markdownForm
	diffForm
)

// quotes says what an apostrophe is.
type quotes byte

const (
	singles quotes = iota // it begins a string
	letters               // it begins a literal of one letter, or something else
	neither
)

// A pair is around a string or a comment.
type pair struct {
	begin, end string
	kind       Kind
	escape     bool // a backslash hides the end
	lines      bool // it may end in another line
	nest       bool // it may be within itself
	apart      bool // it begins only after something else than a word
}

var (
	doubleQuoted = pair{begin: `"`, end: `"`, kind: String, lines: true}
	singleQuoted = pair{begin: `'`, end: `'`, kind: String, lines: true}
	htmlComment  = pair{begin: "<!--", end: "-->", kind: Comment, lines: true}
)

type language struct {
	form     form
	quotes   quotes
	comments []string // what comments up to the end of a line begin with
	pairs    []pair   // the longer ones first
	keywords map[string]bool
	fold     bool   // keywords are written in any case
	sigils   string // what variables begin with
	within   string // more bytes that may be in words
	file     bool   // the whole name of a file may be its name
}

// begins returns the pair that a text begins, or nil.
func (l *language) begins(c byte, s string, before byte) *pair {
	for i := range l.pairs {
		if p := &l.pairs[i]; p.begin[0] == c && strings.HasPrefix(s, p.begin) && !(p.apart && isWord(before)) {
			return p
		}
	}
	return nil
}

// isComment reports whether a text begins a comment up to the end of its line. One that is a
// single # is a comment only after white space: it has other meanings in words.
func (l *language) isComment(c byte, s string, before byte) bool {
	for _, begin := range l.comments {
		if begin[0] == c && strings.HasPrefix(s, begin) && (begin != "#" || strings.IndexByte(" \t;({[,", before) >= 0) {
			return true
		}
	}
	return false
}

const longestKeyword = 32

func (l *language) isKeyword(word string) bool {
	if len(word) > longestKeyword {
		return false
	}
	if l.fold {
		word = strings.ToLower(word)
	}
	return l.keywords[word]
}

func isWord(c byte) bool { return isLetter(c) || isDigit(c) }

// languages returns the languages by their names, in lower case.
var languages = sync.OnceValue(func() map[string]*language {
	all := map[string]*language{}
	add := func(names string, l language, keywords string) {
		l.keywords = map[string]bool{}
		for word := range strings.FieldsSeq(keywords) {
			l.keywords[word] = true
		}
		for name := range strings.FieldsSeq(names) {
			all[name] = &l
		}
	}
	block := pair{begin: "/*", end: "*/", kind: Comment, lines: true}
	nested := block
	nested.nest = true
	double := pair{begin: `"`, end: `"`, kind: String, escape: true}
	single := pair{begin: `'`, end: `'`, kind: String, escape: true}
	text := func(mark string, escape bool) pair {
		return pair{begin: mark, end: mark, kind: String, escape: escape, lines: true}
	}
	c := func(pairs ...pair) language {
		return language{comments: []string{"//"}, pairs: append([]pair{block}, pairs...)}
	}

	golang := c(text("`", false), double)
	golang.quotes = letters
	add("go golang", golang, `break case chan const continue default defer else fallthrough for func go goto if import
		interface map package range return select struct switch type var true false nil iota`)

	python := language{comments: []string{"#"}, pairs: []pair{text(`"""`, true), text("'''", true), double, single}}
	add("python py python3 pyi starlark bzl", python, `and as assert async await break case class continue def del elif else except finally for from
		global if import in is lambda match nonlocal not or pass raise return try while with yield True False None self`)

	script := c(text("`", true), double, single)
	script.within = "$"
	add("javascript js jsx mjs cjs typescript ts tsx mts cts vue svelte", script, `abstract any as async await boolean break case catch class const continue
		debugger declare default delete do else enum export extends finally for from function get if implements import in
		instanceof interface is keyof let namespace never new number of private protected public readonly return satisfies set
		static string super switch this throw try type typeof undefined unknown var void while with yield true false null`)

	rust := language{quotes: letters, comments: []string{"//"}, pairs: []pair{nested,
		{begin: `r##"`, end: `"##`, kind: String, lines: true, apart: true}, {begin: `r#"`, end: `"#`, kind: String, lines: true, apart: true},
		{begin: `r"`, end: `"`, kind: String, lines: true, apart: true}, text(`"`, true)}}
	add("rust rs", rust, `as async await break const continue crate dyn else enum extern fn for if impl in let loop match mod move
		mut pub ref return self Self static struct super trait type unsafe use where while true false
		bool char f32 f64 i8 i16 i32 i64 i128 isize str u8 u16 u32 u64 u128 usize String Vec Option Result Box`)

	java := c(text(`"""`, true), double)
	java.quotes = letters
	add("java", java, `abstract assert boolean break byte case catch char class const continue default do double else enum
		extends final finally float for if implements import instanceof int interface long native new package permits private
		protected public record return sealed short static strictfp super switch synchronized this throw throws transient try
		var void volatile while yield true false null`)
	add("kotlin kt kts", language{quotes: letters, comments: []string{"//"}, pairs: []pair{nested, text(`"""`, false), double}}, `abstract actual annotation as break by
		catch class companion const constructor continue crossinline data do else enum expect external final finally for fun
		get if import in infix init inline inner interface internal is lateinit noinline null object open operator out
		override package private protected public reified return sealed set super suspend tailrec this throw try typealias
		val var vararg when where while true false`)
	add("swift", language{comments: []string{"//"}, quotes: neither, pairs: []pair{nested, text(`"""`, true), double}}, `actor any as associatedtype async await break case
		catch class continue default defer deinit do else enum extension fallthrough false fileprivate final for func get guard if import
		in indirect init inout internal is lazy let mutating nil nonisolated open operator override private protocol public repeat
		rethrows return self Self set some static struct subscript super switch throw throws true try typealias var weak where while`)
	add("scala sc", language{quotes: letters, comments: []string{"//"}, pairs: []pair{nested, text(`"""`, false), double}}, `abstract case catch class def do else enum export extends
		final finally for given if implicit import lazy match new object override package private protected return sealed super
		then this throw trait try type val var while with yield true false null`)

	cpp := c(double)
	cpp.quotes, cpp.sigils = letters, "#"
	add("c h cpp c++ cc cxx hpp hh hxx objc objective-c m mm cuda cu", cpp, `alignas alignof auto bool break case catch char class concept const
		consteval constexpr const_cast continue decltype default delete do double dynamic_cast else enum explicit export extern
		final float for friend goto if inline int int8_t int16_t int32_t int64_t long mutable namespace new noexcept nullptr
		operator override private protected public register reinterpret_cast requires restrict return short signed size_t sizeof
		static static_assert static_cast struct switch template this thread_local throw try typedef typeid typename uint8_t
		uint16_t uint32_t uint64_t union unsigned using virtual void volatile wchar_t while true false NULL
		#include #define #if #ifdef #ifndef #elif #else #endif #error #pragma #undef #import`)
	csharp := c(text(`"""`, false), pair{begin: `@"`, end: `"`, kind: String, lines: true}, double)
	csharp.quotes, csharp.sigils = letters, "#"
	add("csharp c# cs", csharp, `abstract as async await base bool break byte case catch char checked class const continue decimal default
		delegate do double else enum event explicit extern false finally fixed float for foreach get goto if implicit in init int
		interface internal is lock long namespace new null object operator out override params private protected public readonly
		record ref return sbyte sealed set short sizeof static string struct switch this throw true try typeof uint ulong
		unchecked unsafe ushort using var virtual void volatile when where while with yield`)
	add("protobuf proto", c(double, single), `syntax package import option message enum service rpc returns stream repeated optional required
		oneof map reserved extend bool string bytes double float int32 int64 uint32 uint64 sint32 sint64 fixed32 fixed64 true false`)

	php := c(text(`"`, true), text(`'`, true))
	php.comments, php.sigils = []string{"//", "#"}, "$"
	add("php", php, `abstract and array as break callable case catch class clone const continue declare default do echo else elseif
		empty enum extends final finally fn for foreach function global if implements include include_once instanceof insteadof
		interface isset list match namespace new or print private protected public readonly require require_once return static
		switch throw trait try unset use var while xor yield true false null`)
	ruby := language{comments: []string{"#"}, pairs: []pair{{begin: "=begin", end: "=end", kind: Comment, lines: true, apart: true}, text(`"`, true), text("'", true)}, sigils: "@$", within: "?!"}
	add("ruby rb gemfile rakefile", ruby, `alias and begin break case class def defined? do else elsif end ensure for if in module next nil not or
		private protected public raise redo require require_relative rescue retry return self super then true false undef unless
		until when while yield attr_accessor attr_reader attr_writer include extend`)
	add("lua", language{comments: []string{"--"}, pairs: []pair{{begin: "--[[", end: "]]", kind: Comment, lines: true}, {begin: "[[", end: "]]", kind: String, lines: true}, double, single}},
		`and break do else elseif end false for function goto if in local nil not or repeat return then true until while`)

	shell := language{comments: []string{"#"}, pairs: []pair{text(`"`, true), text("'", false), text("`", true)}, sigils: "$", within: "-"}
	add("sh bash shell zsh ksh console shell-session fish", shell, `if then else elif fi for while until do done case esac in function select time return exit
		break continue local export readonly declare unset shift set source alias trap eval exec cd echo printf test read true false`)
	powershell := language{comments: []string{"#"}, pairs: []pair{{begin: "<#", end: "#>", kind: Comment, lines: true}, text(`"`, false), text("'", false)}, sigils: "$", within: "-", fold: true}
	add("powershell ps1 pwsh psm1", powershell, `begin break catch class continue data do dynamicparam else elseif end enum exit filter finally for foreach
		from function if in param process return switch throw trap try until using while`)

	add("json jsonc json5 jsonl", c(double), `true false null`)
	yaml := language{form: keyForm, quotes: neither, comments: []string{"#"}, pairs: []pair{{begin: `"`, end: `"`, kind: String, escape: true, lines: true, apart: true}, {begin: "'", end: "'", kind: String, lines: true, apart: true}}, sigils: "&*!", within: "-."}
	add("yaml yml", yaml, `true false null yes no on off`)
	toml := language{form: keyForm, comments: []string{"#", ";"}, pairs: []pair{text(`"""`, true), text("'''", false), double, {begin: "'", end: "'", kind: String}}, within: "-."}
	add("toml ini cfg conf properties editorconfig", toml, `true false inf nan`)
	add("hcl terraform tf tfvars", language{form: keyForm, comments: []string{"#", "//"}, pairs: []pair{block, double}, within: "-"}, `resource data variable output module provider
		locals terraform for_each count dynamic true false null if for in`)

	sql := language{comments: []string{"--"}, pairs: []pair{block, {begin: "'", end: "'", kind: String, lines: true}, {begin: `"`, end: `"`, kind: String}, {begin: "`", end: "`", kind: String}}, fold: true}
	add("sql mysql postgresql postgres psql sqlite plsql", sql, `add all alter and any as asc begin between bigint boolean by cascade case cast char check column commit
		constraint create cross current_timestamp database date default delete desc distinct double drop else end exists
		explain false fetch float for foreign from full function grant group having if ilike in index inner insert int integer
		intersect interval into is join key left like limit natural not null numeric offset on or order outer over partition
		primary procedure references returning revoke right rollback row select serial set table text then timestamp to
		transaction trigger true truncate union unique update using values varchar view when where window with`)

	css := language{pairs: []pair{block, double, single}, sigils: "@$", within: "-"}
	add("css", css, `@media @import @font-face @keyframes @supports @layer @container important none auto inherit initial unset var calc`)
	css.comments = []string{"//"}
	add("scss sass less", css, `@media @import @font-face @keyframes @supports @layer @container @use @forward @mixin @include @extend @function
		@return @if @else @for @each @while important none auto inherit initial unset var calc`)
	add("html htm xhtml xml svg xsl plist", language{form: markupForm}, "")
	add("markdown md mdx", language{form: markdownForm}, "")
	add("diff patch", language{form: diffForm}, "")

	docker := language{file: true, comments: []string{"#"}, pairs: []pair{double, single}, sigils: "$"}
	add("dockerfile docker containerfile", docker, `FROM AS RUN CMD LABEL EXPOSE ENV ADD COPY ENTRYPOINT VOLUME USER WORKDIR ARG ONBUILD STOPSIGNAL HEALTHCHECK SHELL`)
	makefile := language{file: true, form: keyForm, quotes: neither, comments: []string{"#"}, sigils: "$.", within: "-"}
	add("makefile make mk gnumakefile", makefile, `ifeq ifneq ifdef ifndef else endif include define endef export unexport override
		.PHONY .DEFAULT .SUFFIXES .SILENT .ONESHELL`)
	for _, name := range []string{"gemfile", "rakefile"} {
		whole := *all[name]
		whole.file = true
		all[name] = &whole
	}
	return all
})
