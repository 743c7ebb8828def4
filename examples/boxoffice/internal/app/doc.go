// Package app puts the box office together: it opens what the configuration
// names, gives each part what it needs, runs the parts of this process's roles
// and ends them in order.
//
//	role       runs
//	api        the site and the JSON API
//	relay      the outbox's relay
//	worker     the consumers, the payment executor, the singleton that ends unpaid holds,
//	           and the simulated payment gateway unless another one is configured
//	admitter   nothing yet to admit from: the waiting room lets everybody in at once
//
// Every process answers /healthz, /readyz and /metrics.
//
// When its context ends, the process first stops taking requests and lets those
// under way finish, then the calls to the gateway, the handlers and the relay,
// each of which commits what it did. What is left in the database is taken up
// by the next start, or by another process.
//
//	property                                                       proven by
//	book, pay, confirmed; decline; time out; cancel; refund; late  TestJourneys
//	a crash between any two steps loses and doubles nothing        TestCrashes
//	a duplicate of every message changes nothing                   TestDuplicates
//	a malformed message becomes a dead letter, others go on        TestMalformedMessage
//	the process ends in order and leaves no goroutine              TestShutdown, TestMain
//	a port in use, a folder in use: clear errors                   TestStartErrors
package app
