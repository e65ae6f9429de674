// Package fill makes values for round-trip tests, with nothing left zero.
package fill

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"

	"github.com/openagent-go/agent/llm"
)

// New returns a value of type t in which every exported field that JSON carries
// is set, at every depth, each to something else. It panics on types that
// messages and facts do not use, so that a test notices a new one.
func New(t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	(&filler{}).fill(v, 0)
	return v
}

// A filler numbers the values that it makes.
type filler struct{ n int64 }

// Blocks nest, in the results of tools: below this depth they are only text.
const maxDepth = 8

// blocks returns a block of each type.
func (f *filler) blocks(depth int) llm.Blocks {
	if depth > maxDepth {
		return llm.Blocks{llm.Text{Text: "deep"}}
	}
	var bs llm.Blocks
	for _, b := range []llm.Block{llm.Text{}, llm.Thinking{}, llm.RedactedThinking{}, llm.Image{},
		llm.Document{}, llm.ToolUse{}, llm.ToolResult{}, llm.Verbatim{}} {
		v := reflect.New(reflect.TypeOf(b)).Elem()
		f.fill(v, depth+4)
		bs = append(bs, v.Interface().(llm.Block))
	}
	return bs
}

// Interfaces are the values of members of interface types.
var Interfaces = map[reflect.Type]any{}

func (f *filler) fill(v reflect.Value, depth int) {
	f.n++
	switch p := v.Addr().Interface().(type) {
	case *time.Time:
		*p = time.Date(2026, 2, 3, 4, 5, 6, int(f.n), time.UTC)
		return
	case *json.RawMessage:
		*p = fmt.Appendf(nil, `{"n":%d,"crc":"00000000","é":["\n",null]}`, f.n)
		return
	case *llm.Blocks:
		*p = f.blocks(depth)
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(f.n)
	case reflect.Uint8:
		v.SetUint(uint64(f.n%255) + 1)
	case reflect.Float64:
		v.SetFloat(float64(f.n) + 0.1)
	case reflect.String:
		v.SetString(fmt.Sprintf("%d <&> \"\\\" ä\u2028\U0001F600\x00\n", f.n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		f.fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		f.fill(v.Index(0), depth+1)
		f.fill(v.Index(1), depth+1)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		for range 2 {
			key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
			f.fill(key, depth+1)
			f.fill(value, depth+1)
			v.SetMapIndex(key, value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			if s := v.Type().Field(i); s.IsExported() && s.Tag.Get("json") != "-" {
				f.fill(v.Field(i), depth+1)
			}
		}
	case reflect.Interface:
		v.Set(reflect.ValueOf(Interfaces[v.Type()]))
	default:
		panic("fill: no value for " + v.Type().String())
	}
}
