package metering

import (
	"cmp"
	"fmt"
	"math"
)

// CheckAmount returns an error if an amount of USD is negative or not finite. One such amount
// would change or block an account for the rest of its period.
func CheckAmount(name string, usd float64) error {
	if usd >= 0 && !math.IsInf(usd, 1) {
		return nil
	}
	return fmt.Errorf("the amount %s of a quota is %v USD; it must be a finite number of at least 0", name, usd)
}

// CheckReservation checks the amounts of a reservation. A limit may be infinite.
func CheckReservation(least, most, limit, expected float64) error {
	if !math.IsInf(limit, 1) {
		if err := CheckAmount("Limit", limit); err != nil {
			return err
		}
	}
	return cmp.Or(CheckAmount("Least", least), CheckAmount("Most", most), CheckAmount("Expected", expected))
}
