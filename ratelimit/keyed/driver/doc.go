// Package driver is the interface between a store and package keyed, for authors of stores of
// the states of keys.
//
//	waits, err := store.Take(ctx, []driver.Ask{{Key: "203.0.113.7", Limit: driver.Limit{Every: time.Second, Burst: 20}}})
//
// The limiter, in keyed, shares a call of the store among many callers, remembers refusals and
// counts alone while the store does not answer. Package rediskeyed is an example.
package driver
