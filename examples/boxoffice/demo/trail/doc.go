// Package trail follows one visit through a box office: it keeps in memory the spans
// that the processes send, makes one member follow another, who is notified on her live
// stream, and shows the trace of it, from the request through outbox, transport and
// consumer to the frame of the stream.
//
// The visit decides that its trace is kept. Of other requests a small part is kept, so
// that tracing does not slow down the crowd.
//
//	property                                             proven by
//	the check holds when the trace is whole, and names
//	the missing part when it is not                      TestTrail, TestTrailIsBroken
//	an office that answers nothing is a broken check,
//	after its patience                                   TestTrailOfABusyOffice
package trail
