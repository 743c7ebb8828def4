// Package seal holds the keys of a waiting room, and seals what only the packages of the room
// read. Package token makes the tokens that programs issue and verify, with the same keys.
//
//	kind                  says                                     bound to      lasts     form
//	[Tickets]             a place in line: epoch and order, and    event, user   as the    56 characters
//	                      which loss it outlives                                 epoch
//	[Requests]            a position given out by a front gate     event, and    caller's  56 characters
//	                                                               member if any
//	[Visitors]            a browser that has not signed in         -             caller's  48 characters
//	[Origins]             a request came through a gate            event, user,  ± 30 s    key id.MAC, and
//	                                                               method, host,           the time
//	                                                               path, query
//	[Puzzles]             a challenge was made at this time        event, user   caller's  56 characters
//	[Secrets]             what a room keeps outside of its store   event         always    AES-256 in GCM
//
// The key of a kind is HMAC-SHA256(secret, "millrace/queue/" + kind), with the kind being
// "ticket", "request", "visitor", "origin", "puzzle" or "secret": nothing of one kind is valid as
// another. Each text names its key by an id that tells nothing of it.
//
//	property                                                  proven by
//	a secret of a room opens for its event and keys only      TestSecrets
//	a ticket opens for its event and user only                TestTicketIsThatOfItsUserAndEvent,
//	                                                          TestTicketNamesDoNotRunTogether
//	any bit changed in a ticket or a request id makes it      TestTamperedTicket, TestTamperedRequest
//	invalid
//	a ticket of 48 characters, of earlier releases, opens,    TestTicketsWithoutUntilOpen
//	and outlives no loss
//	a request id opens for its event and member only          TestRequestRoundTrip, TestRequestIsItsMembers
//	a kind never passes for another                           TestSealedTextsAreNotInterchangeable
//	a visitor is new, and any bit changed makes it invalid    TestVisitor
//	a gate's signature is for one request, near its time      TestOrigin
//	no text makes a parser panic, or passes by chance         FuzzTicketOpen, FuzzRequestOpen
package seal
