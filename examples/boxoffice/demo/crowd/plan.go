package crowd

import (
	"math"
	"math/rand/v2"
)

// Plan is the intention of a fan once it holds seats.
type Plan string

// The plans.
const (
	PlanPay        Plan = "pay"                    // an approving card
	PlanPayTwice   Plan = "pay twice"              // the same payment key again, at once and later
	PlanDecline    Plan = "declined card"          //
	PlanTimeout    Plan = "card that times out"    // settled later by the gateway
	PlanLastMoment Plan = "pay in the last moment" // with that card, just before the hold ends
	PlanCancel     Plan = "cancel before paying"   //
	PlanExpire     Plan = "let the hold expire"    //
	PlanRefund     Plan = "pay, then refund"       //
	PlanTransfer   Plan = "pay, then transfer"     //
	PlanMembership Plan = "buy a membership"       // no seats
	PlanGrasp      Plan = "grasp at more seats"    // than a member may have, at once, and pay for the first
)

// share is how many of 100 fans follow a plan.
var shares = [...]struct {
	plan  Plan
	share float64
}{
	{PlanPay, 41}, {PlanGrasp, 3}, {PlanPayTwice, 10}, {PlanDecline, 9}, {PlanTimeout, 7}, {PlanLastMoment, 4},
	{PlanCancel, 7}, {PlanExpire, 5}, {PlanRefund, 7}, {PlanTransfer, 4}, {PlanMembership, 3},
}

// planOf spreads the plans evenly over the fans: multiples of the golden ratio
// visit every part of the unit interval soon, where random draws would leave
// small crowds without a rare plan.
func planOf(seed uint64, fan int) Plan {
	offset := rand.New(rand.NewPCG(seed, 0)).Float64()
	_, u := math.Modf(offset + float64(fan)*(math.Sqrt(5)-1)/2)
	at := u * 100
	for _, s := range shares {
		if at < s.share {
			return s.plan
		}
		at -= s.share
	}
	return PlanPay
}

// chance is the random source of one fan, independent of the others.
func chance(seed uint64, fan int) *rand.Rand {
	return rand.New(rand.NewPCG(seed, uint64(fan)+1))
}
