// Package waiting asks the waiting rooms and front gates in a Redis how they
// stand, and tells rooms their threshold, without the keys or the configuration
// of the application that they belong to.
//
//	property                                                       proven by
//	what an operator has set is told from what nobody has          TestEvents
//	events of rooms and of gates are found, each once              TestEvents
//	an event that is not there is told, and gets no room           TestMissing
//	a threshold reaches the application's own room                 TestThreshold
//	the same on a Cluster                                          all of them
//	asking changes nobody's place                                  TestEvents
//
// # Failure modes
//
// Redis away: every call fails within the client's timeout. Look makes an empty room of an
// event that nobody has used, which goes by itself after a day: ask Missing before.
package waiting
