// Package quotawarning carries the warnings of accounts from the model calls that cause them
// to the runs that make the calls.
package quotawarning

// A Warning says that the costs of an account have reached a share of its limit.
type Warning struct {
	Key      string
	SpentUSD float64
	LimitUSD float64
}

// Listener is the key of a func([Warning]) among a context's values. Model calls with the
// context tell it the warnings of their accounts.
type Listener struct{}
