// Package waiting asks the waiting rooms and front gates in a Redis how they
// stand, and tells rooms their threshold, without the keys or the configuration
// of the application that they belong to.
//
//	property                                                       proven by
//	what an operator has set is told from what nobody has          TestEvents
//	events of rooms and of gates are found, each once              TestEvents
//	a threshold reaches the application's own room                 TestThreshold
//	the same on a Cluster                                          all of them
//	asking changes nobody's place                                  TestEvents
//
// # Failure modes
//
// Redis away: every call fails within the client's timeout. An event that nobody
// has used has a room from the first question on, which is empty and goes by
// itself after a day.
package waiting
