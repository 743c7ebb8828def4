package crowd

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

// Cards of the simulated gateway.
const (
	CardApproved = "4242424242424242"
	CardDeclined = "4000000000000002"
	CardTimeout  = "4000000000000341"
)

// fan is one visit, with its plan. One goroutine owns it.
type fan struct {
	*visitor
	index int
	seats holder
	money buyer
}

func newFan(v *visitor, index int) *fan {
	return &fan{visitor: v, index: index, seats: holder{v}, money: buyer{v, index}}
}

// visit is all that a fan does: its plan, and beside it its share, with a live stream
// open. It leaves no place behind that others wait for.
func (f *fan) visit(ctx context.Context) (end End, err error) {
	if f.rec.Token, err = f.signIn(ctx, f.rec.Member); err != nil {
		return "", err
	}
	chance := mingling(f.crowd.cfg.Seed, f.index)
	share := shareOf(chance, f.index)
	listening, hangUp := context.WithCancel(ctx)
	var stream sync.WaitGroup
	if share.Listen {
		l := &listener{fan: f, told: &f.rec.Stream}
		stream.Go(func() { l.listen(listening) })
	}
	g := &guest{fan: f, share: share, chance: chance, told: &f.rec.Community}
	mingled := make(chan error, 1)
	go func() { mingled <- g.mingle(ctx) }()

	end, err = f.carryOut(ctx)
	for event := range f.inside {
		if left := f.leave(ctx, event); err == nil {
			err = left
		}
	}
	if with := <-mingled; err == nil {
		err = with
	}
	if err == nil {
		err = f.readInbox(ctx)
	}
	hangUp()
	stream.Wait()
	return end, err
}

// carryOut carries out the plan.
func (f *fan) carryOut(ctx context.Context) (_ End, err error) {
	if f.rec.Plan == PlanMembership {
		return f.money.buyMembership(ctx)
	}
	held, err := f.seats.holdSeats(ctx)
	if err != nil {
		return "", err
	}
	if held == nil {
		return EndSoldOut, nil
	}
	switch f.rec.Plan {
	case PlanCancel:
		if err := f.think(ctx); err != nil {
			return "", err
		}
		return f.seats.cancel(ctx, held)
	case PlanExpire:
		return f.seats.letExpire(ctx, held)
	case PlanLastMoment:
		early := 50*time.Millisecond + rand.N(500*time.Millisecond)
		if err := Sleep(ctx, time.Until(held.Expires.Add(-early))); err != nil {
			return "", err
		}
	default:
		if err := f.think(ctx); err != nil {
			return "", err
		}
	}
	return f.payFor(ctx, held)
}

// payFor pays for a hold and then carries out the rest of the plan.
func (f *fan) payFor(ctx context.Context, held *Reservation) (End, error) {
	card := CardApproved
	switch f.rec.Plan {
	case PlanDecline:
		card = CardDeclined
	case PlanTimeout, PlanLastMoment:
		card = CardTimeout
	}
	start := time.Now()
	p, err := f.money.pay(ctx, held, card)
	if err != nil {
		return "", err
	}
	if p == nil { // refused because the hold had ended
		held.Lasted = time.Since(held.Asked)
		if err := f.awaitReservation(ctx, held); err != nil {
			return "", err
		}
		if held.Status != Cancelled {
			return "", fmt.Errorf("the payment of reservation %s was refused, and then it was %s", held.ID, held.Status)
		}
		return EndExpired, nil
	}
	if f.rec.Plan == PlanPayTwice {
		if err := f.money.payAgain(ctx, held, p); err != nil {
			return "", err
		}
	}
	end, err := f.settle(ctx, held, p, start)
	if err != nil || end != EndConfirmed {
		return end, err
	}
	switch {
	case f.rec.Plan == PlanTransfer:
		return f.money.transfer(ctx, held, p)
	case f.rec.Plan == PlanRefund, f.crowd.cfg.Churn && f.chance.Float64() < 0.8:
		if err := f.think(ctx); err != nil {
			return "", err
		}
		return f.money.refund(ctx, held, p)
	}
	return end, nil
}

// settle follows a payment of a reservation to its end.
func (f *fan) settle(ctx context.Context, held *Reservation, p *Payment, start time.Time) (End, error) {
	if err := f.money.awaitPayment(ctx, p, Processing); err != nil {
		return "", err
	}
	f.crowd.meter.Observe(stepName("payment outcome", p.Card), time.Since(start))
	if p.Status == Failed {
		if p.Card != CardDeclined && p.Card != CardTimeout {
			return "", fmt.Errorf("payment %s failed although the card %s approves", p.ID, p.Card)
		}
		if err := f.awaitReservation(ctx, held); err != nil {
			return "", err
		}
		if held.Status == Confirmed {
			return "", fmt.Errorf("payment %s failed and reservation %s is confirmed", p.ID, held.ID)
		}
		return EndDeclined, nil
	}
	if p.Card == CardDeclined {
		return "", fmt.Errorf("payment %s is %s although the card was declined", p.ID, p.Status)
	}
	if p.Status == Refunded {
		return EndLate, nil
	}
	if err := f.awaitReservation(ctx, held); err != nil {
		return "", err
	}
	if held.Status == Confirmed {
		p.Confirmed, held.Bought = true, time.Now()
		f.crowd.meter.Observe(stepName("ticket confirmed", p.Card), time.Since(start))
		return EndConfirmed, nil
	}
	// The hold had ended before the payment: the money must be refunded.
	return EndLate, f.money.awaitPayment(ctx, p, Success)
}

func stepName(step, card string) string {
	if card == CardTimeout {
		return step + ", timed-out card"
	}
	return step
}
