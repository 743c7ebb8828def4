// Package driver is the interface between package sse and its stores, for those who write one. A
// [Cap] keeps which connections of each member are registered, and a [Broker] carries messages
// between the instances of a hub.
//
//	live, err := store.Renew(ctx, instance, 10*time.Second)
//	opened, err := store.Open(ctx, rules, live, driver.Conn{Member: "m", ID: instance + ".1", Token: tab})
//	err = broker.Publish(ctx, driver.Message{Kind: driver.ToMember, To: "m", Frame: frame})
//	err = store.Close(ctx, []driver.Conn{{Member: "m", ID: instance + ".1", Token: tab}})
//
// Package ssetest has the conformance suites, and package memsse is an example of both.
package driver
