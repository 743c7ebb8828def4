// Package memsse keeps the cap and carries the messages of package sse within one
// process: for an app of one process, and for tests. Several hubs that share a cap and
// a broker of [New] act like hubs of several processes.
//
//	hub, err := sse.New(streams, broker, sse.Config{}) // streams, broker := memsse.New()
//
// Both pass package ssetest. Their state ends with the process; a member takes
// about 300 bytes while streams are open or evicted tabs are remembered.
package memsse
