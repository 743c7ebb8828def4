// Package miniredistest runs suites of stores on miniredis, which users put into their own
// tests in place of a Redis.
//
//	property                                            proven by
//	a coalescer works on miniredis                      TestCoalescer
//	so do keys, alone and in front of SQL, and leases   TestIdempotency, TestLayered, TestLeases
package miniredistest
