package demo

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/syntax"
)

// A repair is a change of one number or operator after which a function gives
// what its tests want.
type repair struct {
	line     int
	old, new string      // the whole line
	from, to string      // what was exchanged in it
	check    expectation // one that failed
}

// An expectation is a call of a function in the output of the tests.
type expectation struct {
	function string
	args     []string
	want     string // "" if it passed
}

func (c expectation) String() string {
	return strings.Join(append([]string{c.function}, c.args...), " ")
}

var (
	expectationLine = regexp.MustCompile(`(?m)^(ok|FAIL)\s+(\w+)((?: -?\d+)*)(?:: want (-?\d+), got .*)?$`)
	shownLine       = regexp.MustCompile(`^\s*(\d+)→(.*)$`)
	functionLine    = regexp.MustCompile(`^(\w+)\(\) \{`)
	formulaIn       = regexp.MustCompile(`\$\(\((.*)\)\)`)
	tokenIn         = regexp.MustCompile(`\$\d|\d+|[-+*/%]`)
)

func checksOf(report string) []expectation {
	var checks []expectation
	for _, m := range expectationLine.FindAllStringSubmatch(report, -1) {
		if (m[1] == "FAIL") == (m[4] != "") {
			checks = append(checks, expectation{m[2], strings.Fields(m[3]), m[4]})
		}
	}
	return checks
}

// findRepair looks for the first repair of the code, as the tool Read shows it,
// for what the output of its tests says.
func findRepair(code, report string) (repair, bool) {
	checks := checksOf(report)
	for _, c := range checks {
		if c.want == "" {
			continue
		}
		same := slices.DeleteFunc(slices.Clone(checks), func(d expectation) bool { return d.function != c.function })
		if r, ok := repairFunction(code, same); ok {
			r.check = c
			return r, true
		}
	}
	return repair{}, false
}

// repairFunction looks for a repair in the function that all checks call.
func repairFunction(code string, checks []expectation) (repair, bool) {
	inside := false
	for line := range strings.Lines(code) {
		m := shownLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			continue
		}
		text := m[2]
		if f := functionLine.FindStringSubmatch(text); f != nil {
			inside = f[1] == checks[0].function
		}
		span := formulaIn.FindStringSubmatchIndex(text)
		if !inside || span == nil {
			continue
		}
		formula := text[span[2]:span[3]]
		for _, v := range variants(formula) {
			if satisfies(formula, v.text, checks) {
				n, err := strconv.Atoi(m[1])
				return repair{line: n, old: text, new: text[:span[2]] + v.text + text[span[3]:], from: v.from, to: v.to}, err == nil
			}
		}
	}
	return repair{}, false
}

type variant struct{ text, from, to string }

// variants returns the formulas that differ from this one in a number or an operator.
func variants(formula string) []variant {
	var out []variant
	for _, at := range tokenIn.FindAllStringIndex(formula, -1) {
		from := formula[at[0]:at[1]]
		for _, to := range instead(from) {
			out = append(out, variant{formula[:at[0]] + to + formula[at[1]:], from, to})
		}
	}
	return out
}

// instead returns what could stand in the place of a number or an operator.
func instead(token string) []string {
	const operators = "+-*/%"
	if strings.Contains(operators, token) {
		return strings.Split(strings.Replace(operators, token, "", 1), "")
	}
	n, err := strconv.Atoi(token)
	if err != nil || n > 1_000_000 {
		return nil // a parameter, or too large for cents
	}
	var out []string
	for _, m := range []int{n * 10, n * 100, n / 10, n / 100, n + 1, n - 1} {
		if m != n {
			out = append(out, strconv.Itoa(m))
		}
	}
	return out
}

// satisfies reports whether every check holds with the changed formula: those
// that failed get what they want, the others what they have.
func satisfies(formula, changed string, checks []expectation) bool {
	return !slices.ContainsFunc(checks, func(c expectation) bool {
		want := c.want
		if want == "" {
			n, ok := evaluate(formula, c.args)
			if !ok {
				return true
			}
			want = strconv.Itoa(n)
		}
		got, ok := evaluate(changed, c.args)
		return !ok || strconv.Itoa(got) != want
	})
}

// evaluate computes a formula of shell arithmetic for the given parameters.
func evaluate(formula string, args []string) (int, bool) {
	expr, err := syntax.NewParser().Arithmetic(strings.NewReader(formula))
	if err != nil {
		return 0, false
	}
	env := expand.FuncEnviron(func(name string) string {
		if n, err := strconv.Atoi(name); err == nil && 1 <= n && n <= len(args) {
			return args[n-1]
		}
		return ""
	})
	v, err := expand.Arithm(&expand.Config{Env: env}, expr)
	return v, err == nil
}
