// Package fault classifies errors by the reaction that they need: retry, stop, or wait until a
// dependency is back or another worker is done.
//
//	class            meaning                                          a consumer's reaction
//	Transient        may work next time; anything unclassified        retry with backoff, then dead letter
//	Permanent        never works with this input                      dead letter at once
//	Infrastructure   our database, Redis or broker is down or slow    pause; never a dead letter
//	Busy             another worker holds a needed resource           its key waits; never a dead letter
//
// Wrap an error where its cause is known, and call [Of] where the reaction is chosen. Wrapping
// keeps [errors.Is] and [errors.As] working and does not change the message. When an error was
// wrapped more than once, the outermost class counts, because the outer layer knows more about
// the meaning of the failure.
//
// A driver's own errors have no class. The packages that link a driver export a [Classifier]
// for it; pass it to [Of].
//
//	property                                                proven by
//	a mark survives wrapping; the outermost counts          TestOf
//	marking changes neither the text nor errors.Is and As   TestMarkIsTransparent
//	a mark beats every classifier; the first answer counts  TestClassifiers
//	nil stays nil                                           TestNil
//
// Failure modes: of joined errors ([errors.Join]) the first marked one counts. If the parts
// differ, mark the joined error itself.
package fault
