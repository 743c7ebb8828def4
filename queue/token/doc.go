// Package token signs the tokens that a program hands out around a waiting room, and checks
// them when they come back: the right to be inside, the passage of the front gate, and the
// requests that a trusted edge lets through. It asks no store. The packages of the waiting room
// seal what only they read, such as the place of a user in line, with keys of the same [Ring].
//
//	ring, err := token.NewRing(newSecret, oldSecret) // the first signs, all verify
//	…
//	entries, err := token.NewEntries(ring, token.Config{})
//	…
//	text, err := entries.Issue(token.EntryClaims{Event: "show-1", User: "42", ID: "1.77"})
//	…
//	claims, err := entries.Verify(text, "show-1") // and compare claims.User
//
// There are three kinds, of which package frontgate makes and reads the second itself:
//
//	kind                  says                                     bound to      lasts     form
//	[Entries]             the right to be inside, by admission     event, user   600 s     JWT, entry+jwt
//	of a front gate       a passage of the gate, with its          event         600 s     JWT, gate+jwt
//	                      position and its member if any
//	[Pass]                a request needs no entry token           event, user,  ± 30 s    key id.time.MAC
//	                                                               method, path
//
// The key of a kind is HMAC-SHA256(secret, "millrace/queue/" + kind), with the
// kind being "entry", "gate" or "pass", or one that the room seals: one secret serves all of them, and nothing of one kind is valid as
// another. Each text names its key by an id that tells nothing of it. JWTs are HS256 and nothing else: a token
// that names another algorithm is refused before its signature is looked at. A
// token is valid from 5 s before its iat, for clocks that differ, and not a
// moment after its exp.
//
// # Guarantees
//
//	property                                                  proven by
//	a secret under 32 bytes is refused, and not told          TestShortSecrets
//	printing a value that holds keys shows none of them       TestPrintingTellsNoKey
//	keys rotate without refusing earlier tokens               TestRotation
//	any bit changed in a JWT makes it invalid                 TestTamperedJWT
//	none, RS256 and HS384 are refused by name                 TestAlgorithm
//	a kind never passes for another                           TestKindsAreNotInterchangeable
//	expired, early, foreign and incomplete tokens             TestRefusals
//	are told apart
//	two users never have one token                            TestIssueRefusesWhatJSONChanges
//	a pass is for one request, near its time                  TestPass
//	no text makes a parser panic, or passes by chance         FuzzEntryVerify, FuzzGateVerify, FuzzPassCheck
//
// # Failure modes
//
// Anyone with a secret can make any token: protect it as a password, and take a
// leaked one out of the ring, which ends everything it has signed.
//
// Tickets, entry tokens and request ids can be copied by anyone that has them. The
// first two, and request ids with a member, are worth something for their own user
// only; a request id without a member for everyone that knows it.
//
// An entry token is valid until its exp, also after its user has left. For actions
// that must not happen twice ask the room as well, with [EntryClaims].ID.
//
// A machine whose clock is wrong by more than 5 s has its new tokens refused as not
// yet valid by the others (ahead), or ends them early (behind).
package token
