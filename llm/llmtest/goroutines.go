package llmtest

import (
	"reflect"
	"runtime"
	"strings"
)

// goroutines returns the stacks of all goroutines by their number.
func goroutines() map[string]string {
	buf := make([]byte, 1<<20)
	n := runtime.Stack(buf, true)
	for n == len(buf) && n < 1<<26 {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	all := map[string]string{}
	for stack := range strings.SplitSeq(string(buf[:n]), "\n\n") {
		number, _, _ := strings.Cut(strings.TrimPrefix(stack, "goroutine "), " ")
		all[number] = stack
	}
	return all
}

// newGoroutines returns the stacks of goroutines that were not there before
// and belong to HTTP or to the model's package.
func newGoroutines(before map[string]string, model reflect.Type) []string {
	for model.Kind() == reflect.Pointer {
		model = model.Elem()
	}
	var left []string
	for number, stack := range goroutines() {
		if _, ok := before[number]; ok {
			continue
		}
		if strings.Contains(stack, "net/http.") || model.PkgPath() != "" && strings.Contains(stack, model.PkgPath()+".") {
			left = append(left, stack)
		}
	}
	return left
}
