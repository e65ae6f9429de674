package sim

import (
	"reflect"
	"testing"
	"time"
)

// shrink returns a short program that still breaks the invariant. It takes about as long as
// it may.
func shrink(t *testing.T, p Program, invariant string, may time.Duration) Program {
	began := time.Now()
	fails := func() bool {
		if time.Since(began) > may {
			return false
		}
		for _, v := range run(t, p).Violations {
			if v.Invariant == invariant {
				return true
			}
		}
		return false
	}
	for smaller := true; smaller; {
		smaller = false
		try := func() bool {
			ok := fails()
			smaller = smaller || ok
			return ok
		}
		reduce(reflect.ValueOf(&p).Elem(), "", try)
	}
	return p
}

// reduce makes a value smaller in every way, as long as try accepts it.
func reduce(v reflect.Value, field string, try func() bool) {
	set := func(x reflect.Value) bool {
		old := reflect.New(v.Type()).Elem()
		old.Set(v)
		v.Set(x)
		if try() {
			return true
		}
		v.Set(old)
		return false
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			reduce(v.Field(i), v.Type().Field(i).Name, try)
		}
	case reflect.Interface:
		own := reflect.New(v.Elem().Type()).Elem()
		own.Set(v.Elem())
		reduce(own, "", func() bool { return set(own) })
	case reflect.Slice:
		for n := v.Len(); n > 0; n /= 2 {
			for i := 0; i+n <= v.Len(); {
				less := reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v.Slice(0, i))
				if !set(reflect.AppendSlice(less, v.Slice(i+n, v.Len()))) {
					i += n
				}
			}
		}
		for i := range v.Len() {
			reduce(v.Index(i), "", try)
		}
	case reflect.Bool, reflect.Int, reflect.Int64:
		if !v.IsZero() && !set(reflect.Zero(v.Type())) && v.CanInt() && v.Int() > 1 {
			set(reflect.ValueOf(v.Int() / 2).Convert(v.Type()))
		}
	case reflect.String:
		if field != "Name" && field != "Tool" && field != "Seed" && !v.IsZero() {
			set(reflect.Zero(v.Type()))
		}
	}
}
