package crowd

import "math/rand/v2"

// Share has a fan's actions beside its plan: its part in the community of the shows.
// It depends on the seed and the fan alone.
type Share struct {
	Show int // which show it is about: that many behind the first
	View bool
	// Like, and Unlike after it.
	Like, Unlike bool
	// Comment, and Delete it again.
	Comment, Delete bool
	Say             int  // messages in the show's chat room, one after the other
	Follow          int  // the fan so many places before; 0 for none
	Listen          bool // keep a live stream open during the visit
}

// mingling is the random source of a fan's share. The share has one of its own, so
// that it does not change the draws of the plan.
func mingling(seed uint64, fan int) *rand.Rand { return rand.New(rand.NewPCG(seed, ^uint64(fan))) }

// shareOf draws a fan's share. It is small: comments and messages go through the same
// outbox as bookings, and must not fill it.
func shareOf(chance *rand.Rand, fan int) Share {
	of := func(percent int) bool { return chance.IntN(100) < percent }
	s := Share{Show: chance.IntN(1000), View: of(25), Like: of(25), Comment: of(20), Listen: of(75)}
	s.Unlike, s.Delete = s.Like && of(30), s.Comment && of(30)
	if of(12) {
		s.Say = 1 + chance.IntN(3)
	}
	if back := 1 + chance.IntN(20); fan >= back && of(20) {
		s.Follow = back
	}
	return s
}
