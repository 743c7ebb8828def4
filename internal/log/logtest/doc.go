// Package logtest is the conformance suite of log.Log: what every backend
// owes to the outbox and to the SQL transports, whichever database it is.
//
// A case is a function that returns an error, so that a deliberately broken
// backend can be shown to fail it; [Run] turns the cases into subtests.
//
//	property                                                 case
//	fields come back as they were appended                   Fields
//	entries of a lane are read in append order, in pages     Order, Resume
//	lanes do not mix                                         Lanes
//	what is not committed is never read                      Uncommitted
//	one holder at a time, also under a rush                  LeaseExclusive, LeaseRush
//	a new cursor starts at the earliest retained entry       LeaseStartsEarliest
//	a released lease is free at once, an expired one too     LeaseRelease, LeaseExpires
//	renewing and advancing keep a lease                      RenewExtends, AdvanceExtends
//	many leases are extended by one call                     RenewOfMany
//	a holder that lost its lease moves nothing               Fencing
//	the cursor and further work commit together or not       AdvanceTogether, AdvanceFails
//	positions end with the server that they were read on     OtherServer
//	a cursor moves only from where its holder believes it    OtherPosition
//	a cursor moves only to a row that is still there         RowGone
//	an Advance may be repeated                               AdvanceAgain
//	pruning stops at the slowest cursor, age and limit       Prune, PruneAge
//	the backlog is what lies after a cursor                  Backlog
//	many writers: none lost, none twice, keys in order       Stress
//	each of several consumers at once reads everything       TwoConsumers
//
// The suite is shown to catch what it is for in TestSuiteFindsFaults.
package logtest
