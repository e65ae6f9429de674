package same

import "testing"

func TestValue(t *testing.T) {
	type loose struct{ _ func() }
	type holds struct{ v any }
	p := new(int)
	for _, c := range []struct {
		a, b any
		want bool
	}{
		{nil, nil, true}, {nil, 1, false}, {1, 1, true}, {1, int64(1), false}, {p, p, true}, {p, new(int), false},
		{loose{}, loose{}, false}, {holds{1}, holds{1}, true}, {holds{loose{}}, holds{loose{}}, false}, {&loose{}, 1, false},
		{[]int{}, []int{}, false}, {map[string]int{}, map[string]int{}, false},
	} {
		if got := Value(c.a, c.b); got != c.want {
			t.Errorf("%T %v, %T %v: %v", c.a, c.a, c.b, c.b, got)
		}
	}
}
