// Package challenge makes programs pay for joining a waiting room, for as long as an
// operator wants that. The price is a proof of work that a browser does by itself, or a
// CAPTCHA of the operator's choice. An accessible way leads past both.
//
//	h, err := queuehttp.New(room, entries, queuehttp.Config{Challenge: &challenge.Config{
//		Keys:    keys,    // of the room
//		Limiter: limiter, // of package ratelimit/keyed
//		On:      func(event string) bool { return false }, // until an operator turns it on
//	}, …})
//	…
//	mux.Handle("GET /queue-solver.js", challenge.Solver())
//	page, err := queuepage.New(queuepage.Config{Solver: "/queue-solver.js", …})
//
// Only joining is challenged: a user in line, inside, or with a ticket of the event is
// not. An operator turns the challenge of an event on and off while a sale runs, by
// queue.Room.SetChallenge or the route of package queuehttp: in all processes, as a setting of
// the room. Config.On is asked while no operator has done so.
//
// # The proof of work
//
// A puzzle names its event, its user and its time, signed. With seed the SHA-256 of the
// puzzle's text, the proof is 16 numbers n, one for each i from 0 to 15, such that
//
//	SHA-256(seed | i | n)    i and n of 4 bytes, the most significant first
//
// begins with Config.Bits bits of zero. The server checks them with 17 hashes. Sixteen
// small puzzles take about the same time for each person, where one large puzzle would
// take a few people five times as long: of the number of hashes, 16 × 2^bits on
// average, the standard deviation is a quarter.
//
//	bits 12, the default                         hashes
//	on average                                   65,536
//	for 99 of 100 people at most                110,000
//
// TestBrowserProof measures the time in Chromium slowed six times, of which docs/security.md
// has the figures and the cost of bots. The proof makes a thousand identities cost a
// thousand times as much; it does not tell people from programs. A bot with a fast
// processor needs some 10 ms for a proof: against those, use the rate by address, and a
// CAPTCHA.
//
// # The accessible way
//
// A proof of work asks nothing of a person. A browser without workers, or one that is
// too slow, may join by waiting: an answer without a proof, Accessible.Wait after its
// puzzle was made. A person who cannot solve the CAPTCHA joins by a code that the
// operator has sent, if Accessible.Code is set. Both have a share of their own:
// Accessible.PerMinute joins in a minute for each event, over all processes that share
// the limiter. So programs gain little there, and take nothing from those who solve the
// challenge. They can fill the share, as can guesses of codes: the rate by address
// bounds how fast one address does.
//
// # Answers
//
// A client sends its answer in the header X-Queue-Challenge, or in the cookie of the
// same purpose: see package queuehttp.
//
//	work.<puzzle>.<n0>,<n1>,…    the proof, in decimal
//	wait.<puzzle>                the wait
//	token.<text>                 for Config.Captcha
//	code.<text>                  for Accessible.Code
//
// # Guarantees
//
//	property                                                proven by
//	a proof is of one event, one user and its time          TestProofIsBound
//	a proof is used once, over all processes                TestProofIsUsedOnce
//	too little work, and any other text, is refused         TestWrongAnswers, FuzzAnswer
//	the solver's SHA-256 is that of Go, without
//	crypto.subtle and over http                             TestBrowserProof (internal/wholetest/queuepagetest)
//	waiting is long enough, and within its share            TestWaiting
//	a CAPTCHA and a code are asked for by the callbacks     TestCaptcha, TestCode
//	turned on and off while it runs, in all processes       TestOnAndOff, TestChallengeIsTurnedOn and
//	                                                        TestOperatorsSwitchTheChallenge (package queuehttp)
//
// # Failure modes
//
// The store of the limiter is away: each process remembers by itself which proofs were
// used. The same user could use a proof once in each process, which gains nothing while
// the user has a place: a user has one at most.
//
// The service behind Captcha is away: its error is answered with 503, and no user joins
// until it is back or the operator turns the challenge off.
//
// Clocks: a puzzle may be checked by a process whose clock is 30 s behind.
package challenge
