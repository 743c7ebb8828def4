// Package waiting reads the state of the waiting rooms and front gates in a Redis, and sets
// the threshold of rooms, without the keys or the configuration of the application that
// they belong to.
//
//	rooms, err := waiting.Open("redis://cache/0", prefix)
//	missing, there, err := rooms.Missing(ctx, named) // before Look: see below
//	events, err := rooms.Look(ctx, named, progress)
//	before, after, err := rooms.SetThreshold(ctx, "show-1", 500)
//
//	property                                                       proven by
//	operators' settings and unset ones are told apart              TestEvents
//	events of rooms and of gates are found, each once              TestEvents
//	a missing event is reported, and gets no room                  TestMissing
//	a threshold reaches the application's own room                 TestThreshold
//	the same on a Cluster                                          all of them
//	asking changes no visitor's place                              TestEvents
//
// # Failure modes
//
// While Redis is unavailable, every call fails within the client's timeout. Look creates an
// empty room for an unused event, which expires after a day: call Missing before.
package waiting
