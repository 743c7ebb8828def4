// Package rediscopy keeps the copy of the shows in Redis that all processes of the box
// office read; see catalog.Copies.
//
//	key                              holds
//	cache:{shows:<layout>}           the copy, for 2 s
//	cache:{shows:<layout>}:version   how often it was evicted
//
// The layout is a hash of the fields that a show has, so that two releases do not read
// each other's copies. A copy that was read before an eviction is not kept after it:
// the script compares the version.
//
//	property                                                     proven by
//	a copy is kept, and gone after an eviction                   TestCopies
//	a copy read before an eviction is not kept                   TestCopies
//	a copy expires by itself, even if its eviction failed        TestCopies
//	in a Cluster all of it is in one slot                        TestCopies
//
// Failure modes: an eviction that does not reach Redis leaves the copy for its 2 s. A
// Redis that loses its data loses a copy.
package rediscopy
