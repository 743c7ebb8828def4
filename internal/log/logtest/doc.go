// Package logtest is the conformance suite of log.Log: the properties that the outbox and the
// SQL transports need from every backend.
//
//	property                                                 case
//	fields are read as they were appended                    Fields
//	entries of a lane are read in append order, in pages     Order, Resume
//	lanes do not mix                                         Lanes
//	uncommitted entries are never read                       Uncommitted
//	one holder at a time, also under a rush                  LeaseExclusive, LeaseRush
//	a new cursor starts at the earliest retained entry       LeaseStartsEarliest
//	a released lease is free at once, an expired one too     LeaseRelease, LeaseExpires
//	renewing and advancing keep a lease                      RenewExtends, AdvanceExtends
//	many leases are extended by one call                     RenewOfMany
//	a holder that lost its lease moves no cursor             Fencing
//	the cursor and further work commit together or not       AdvanceTogether, AdvanceFails
//	positions end with the server that they were read on     OtherServer
//	a cursor moves only from its holder's position           OtherPosition
//	a cursor moves only to a row that is still there         RowGone
//	an Advance may be repeated                               AdvanceAgain
//	pruning stops at the slowest cursor, age and limit       Prune, PruneAge
//	the backlog is the entries after a cursor                Backlog
//	many writers: none lost, none twice, keys in order       Stress
//	several consumers at once each read every entry          TwoConsumers
//
// TestSuiteFindsFaults shows that the suite detects these faults.
package logtest
