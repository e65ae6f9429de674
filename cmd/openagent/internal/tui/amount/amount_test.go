package amount

import (
	"fmt"
	"testing"
	"time"
)

func TestAmounts(t *testing.T) {
	got := fmt.Sprint(Took(40*time.Millisecond), ", ", Took(1250*time.Millisecond), ", ", Took(72*time.Second), ", ", Clock(3723*time.Second), ", ",
		Tokens(412), ", ", Tokens(6100), ", ", Tokens(120_400), ", ", Tokens(1_200_000), ", ", Dollars(0.0205), ", ", Dollars(2))
	if want := "40 ms, 1.2 s, 1:12, 1:02:03, 412, 6.1k, 120k, 1.2M, $0.0205, $2.00"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
