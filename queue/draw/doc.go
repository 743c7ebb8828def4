// Package draw computes the order of a waiting room that opens at a time, and checks
// it from what was published.
//
//	leaves, err := draw.ReadLeaves(file)
//	…
//	placeOf, err := published.Verify(leaves)
//	…
//	place := placeOf(leaf)
//
// The operator publishes, in this order:
//
//	when the opening is set     the commitment, SHA-256 of a seed of 32 random bytes, and the
//	                            name of a beacon, such as a round of drand
//	when joining has frozen     the leaves in ascending order, and their root
//	then                        the seed, and the value of the beacon
//
// A leaf is HMAC-SHA256 of a person's identity under a key of the room, which is never
// published: a leaf tells nothing of its person, and each person can ask for their
// own. The root is SHA-256 of all leaves, one after the other. The order is that of
//
//	SHA-256(seed ‖ beacon ‖ root ‖ leaf)
//
// No person can choose it: the seed was fixed before the first user joined, and the beacon
// is fixed after the leaves, outside the operator's control. Without a beacon the operator could know
// the seed while people join, and join with chosen identities: then the operator is
// trusted not to look.
//
// The list of leaves is hashed as it is, and not as a Merkle tree: a place is the rank
// among all leaves, so a check of one place needs all of them. docs/verify-draw.py checks
// a place in twenty lines of Python.
//
//	property                                                  proven by
//	the order is that of the formula                          TestOrder, TestFixture
//	a program in another language finds the same places       TestPython
//	whatever is changed in what was published is found, and
//	said in words                                             TestVerifyRefuses
//	leaves are read as they were written, or refused by line  TestLeaves, FuzzReadLeaves
package draw
