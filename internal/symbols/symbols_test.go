package symbols

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestScan(t *testing.T) {
	for _, c := range []struct{ file, text, want string }{
		{"a.go", `package a
// func no() {}
func One(a int) error {
	return nil
}
func (r *T[K]) Two() {}
func Three[T any](x T) {}
type T[K any] struct {
	Field int
}
type I interface{}
type F func()
const A = 1
var b, c = 1, 2
const (
	// comment
	Red Color = iota
	green
)
var (
	x, y = 1, 2
	z    int
)
type (
	P struct {
		Q int
	}
)
	if x := f(); x != nil {`,
			"3 function One, 6 method Two, 7 function Three, 8 struct T, 11 interface I, 12 type F, 13 constant A, 14 variable b, " +
				"17 constant Red, 18 constant green, 21 variable x, 22 variable z, 25 type P"},
		{"a.tsx", `export default async function load<T>(x: T) {
export abstract class Base {
  private static async run(a: string): Promise<void> {
  constructor(x: number) {
  if (a) {
  get size() {
}
interface Shape {
export type Name = string
export const enum Color { Red }
declare namespace N {
export const add = (a, b) => a + b
const LIMIT = 3
  const local = 1
// class No
  return foo(a) {`,
			"1 function load, 2 class Base, 3 method run, 4 method constructor, 6 method size, 8 interface Shape, 9 type Name, 10 enum Color, 11 namespace N, " +
				"12 function add, 13 variable LIMIT"},
		{"a.py", "import x\nLIMIT: int = 3\nclass A(B):\n    async def go(self):\n        x = 1\ndef top():\n# def no():\nif a == b:\n",
			"2 variable LIMIT, 3 class A, 4 method go, 6 function top"},
		{"a.rs", "pub(crate) async unsafe fn go<T>() {\n#[derive(Debug)]\npub struct S;\nenum E {\npub unsafe trait T {\n    type Item = u8;\nmod tests {\nconst MAX: usize = 1;\npub static mut X: u8 = 1;\nmacro_rules! m {\nlet x = 1;\n",
			"1 function go, 3 struct S, 4 enum E, 5 trait T, 6 type Item, 7 module tests, 8 constant MAX, 9 constant X, 10 macro m"},
		{"a.cpp", `#define MAX(a, b) x
template <typename T> class Box : public Base {
class Forward;
struct point {
typedef struct point point_t;
typedef int (*callback)(void *);
enum class Color : int {
namespace a::b {
using Map = std::map<int, int>;
static const char *name_of(int x)
{
	return find(x);
	if (x) {
int proto(void);
std::string Box::get(int i) const {
Box::Box(int x) : y(x) {
    void inline_one() const {
`, "1 macro MAX, 2 class Box, 4 struct point, 5 type point_t, 6 type callback, 7 enum Color, 8 namespace b, 9 type Map, 10 function name_of, 15 function get, 16 function Box, 17 method inline_one"},
		{"A.java", `public final class A<T> extends B {
    private static final int MAX = 3;
    public <T> List<T> find(String s) throws E {
    void plain(int x) {
    abstract int size();
    return foo(x);
    new Thread(x) {
  @interface Mark {
  enum Color {
  record Point(int x) {}
`, "1 class A, 2 field MAX, 3 method find, 4 method plain, 5 method size, 8 interface Mark, 9 enum Color, 10 class Point"},
		{"a.rb", "module M\n  class A::B < C\n    LIMIT = 3\n    def self.make!(x)\n    def ok?\n    x == 1\n", "1 module M, 2 class B, 3 constant LIMIT, 4 method make!, 5 method ok?"},
		{"a.sh", "#!/bin/sh\nNAME=x\nexport OTHER=y\nrun() {\nfunction other {\n  if foo; then\n  run a\n", "2 variable NAME, 3 variable OTHER, 4 function run, 5 function other"},
	} {
		var got []string
		for _, s := range Of(c.file).Scan([]byte(c.text), nil) {
			got = append(got, fmt.Sprintf("%d %s %s", s.Line, s.Kind, s.Name))
		}
		if text := strings.Join(got, ", "); text != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.file, text, c.want)
		}
	}
}

func TestScanWants(t *testing.T) {
	text := "const (\n\tA = 1\n\tB = 2\n)\nfunc B2() {}\n"
	got := Of("x.go").Scan([]byte(text), func(line []byte) bool { return strings.Contains(string(line), "B") })
	if len(got) != 2 || got[0].Name != "B" || got[0].Line != 3 || got[1].Text != "func B2() {}" {
		t.Errorf("%+v", got)
	}
	if Of("x.txt") != nil || Of("noext") != nil {
		t.Error("a language for any text")
	}
}

func TestHostileText(t *testing.T) {
	for _, name := range []string{"a.go", "a.ts", "a.py", "a.rs", "a.c", "a.java", "a.rb", "a.sh"} {
		for _, text := range []string{"", "\n", "\x00\xff\n", strings.Repeat("a ", 1<<16), strings.Repeat("(", 1<<16), "func " + strings.Repeat("é", 1<<12)} {
			for _, s := range Of(name).Scan([]byte(text), nil) {
				if s.Name == "" || len(s.Text) > maxLine+3 || strings.ContainsRune(s.Text, '\uFFFD') && !strings.Contains(text, "\xff") {
					t.Errorf("%s: %+v", name, s)
				}
			}
		}
	}
}

func TestWords(t *testing.T) {
	for name, want := range map[string][]string{
		"findReferences":  {"find", "references"},
		"HTTPServer":      {"http", "server"},
		"snake_case_name": {"snake", "case", "name"},
		"parse JSON2go":   {"parse", "json2go"},
		"utf8Valid":       {"utf8", "valid"},
		"MAX_SIZE":        {"max", "size"},
		"Größe-Ändern":    {"größe", "ändern"},
		"":                nil,
		"-->":             nil,
		"x":               {"x"},
	} {
		if got := Words(name); !slices.Equal(got, want) {
			t.Errorf("%s: %q", name, got)
		}
	}
}
