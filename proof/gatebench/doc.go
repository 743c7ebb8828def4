// Package gatebench measures millrace gate as a reverse proxy beside bare nginx and
// bare Caddy, before the same origin, and its memory with a million people who wait.
//
//	direct          no proxy: the limit
//	millrace gate   the program, in front of 64 visitors who are inside
//	nginx, Caddy    a reverse proxy with open connections to the origin, and nothing else
//	Go's proxy      httputil.ReverseProxy, on which the gate and Caddy stand, and nothing else
//
// All get the same requests, cookies included, on 64 connections, one after the other
// in each round, and each begins a round in its turn. In the open loop a request is due
// every millisecond, whether the ones before it were answered or not. Its latency counts
// from that moment; the wait for a free connection is part of it. The generator sleeps
// by nanosleep, since Go's timers are late by up to a millisecond. If it wakes up late,
// the latency counts from then.
//
// Processor time is that of the proxy's processes by /proc, in steps of 10 ms.
//
// Each person of the crowd has a cookie and polls once, from an address of its own. The
// memory is what the operating system counts as resident then, with what Go has not
// given back. With Redis it is that of the gate, and not of Redis: section queue has
// that.
//
// The origin and the generator share the machine with the proxy.
package gatebench
