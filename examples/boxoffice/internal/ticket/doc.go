// Package ticket makes the tickets that people show at the entrance, and checks them.
//
// Each seat of a CONFIRMED reservation has a ticket. Its code is a compact JWS, signed
// by Ed25519, and its picture a QR code of that:
//
//	{"alg":"EdDSA","kid":"…","typ":"ticket"}
//	{"tkt":"<reservation>.<seat>","show":"show-1","seat":"A-1","gen":1}
//
// gen counts the owners of the reservation: a transfer raises it, so the codes of an
// earlier owner are worth nothing from then on.
//
//	keys, err := ticket.ParseKeys(seeds)        // the first signs, all verify
//	door, err := ticket.New(store, keys)
//	mine, err := door.Issue(ctx, member, reservation)
//	scan, err := door.Scan(ctx, mine[0].Code, "show-1", "scan-7")   // VALID, then USED
//
//	t, err := ticket.Verify(publicKeys, code)   // anywhere, without a server
//
// # With and without the office
//
// A scanner that holds only the public keys (a JSON Web Key Set at GET
// /api/tickets/keys) knows by [Verify] that a ticket is genuine, and its show, seat and
// generation. It cannot know whether the ticket was used at another door, refunded or
// transferred: that is in the office's database, and [Door.Scan] says it. A scanner
// that was offline can record its scans and repeat them later; a second use that it
// then finds has already happened.
//
//	property                                                          proven by
//	a code verifies by the public keys alone, read from their JSON    TestVerifyOffline
//	… and by any library for JWS                                      TestStandardForm
//	a changed code, another key, another algorithm, another kind of
//	token are refused, each with its reason                           TestRefusedCodes, FuzzVerify
//	printing keys reveals none                                        TestPrintingTellsNoKey
//	a new key signs, the old one verifies until it is taken out       TestRotation
//	of two scanners at once one finds VALID                           TestOneScanIsValid
//	a repeated request gets the first result                          TestRepeatedScan
//	used, refunded, transferred, another show's                       TestScan
//	a used ticket can be neither refunded nor transferred             TestUsedTicketStays
//	of a scan and a refund at once, one happens                       TestScanAgainstRefund
//	only the holder gets a code, while the reservation is confirmed   TestIssue
//	the picture is the code's, with its quiet frame                   TestPicture
//
// # Failure modes
//
// A key that is lost, or taken out too soon, makes tickets that it signed unknown_key:
// their holders get new codes from their page. A key that is stolen makes forged codes
// genuine; a forged code of an existing seat takes the real ticket's place. Remove
// the key, and every holder gets a new code at the next look at the page.
package ticket
