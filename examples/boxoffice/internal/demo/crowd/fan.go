package crowd

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// Cards of the simulated gateway.
const (
	CardApproved = "4242424242424242"
	CardDeclined = "4000000000000002"
	CardTimeout  = "4000000000000341"
)

// fan is one visit. One goroutine owns it.
type fan struct {
	crowd  *Crowd
	client *Client
	rec    *Record
	index  int
	chance *rand.Rand
	entry  map[string]string // entry token by event
	inside map[string]bool   // or in line, by event
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
		return f.buyMembership(ctx)
	}
	held, err := f.holdSeats(ctx)
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
		return f.cancel(ctx, held)
	case PlanExpire:
		return f.letExpire(ctx, held)
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
	p, err := f.pay(ctx, held, card)
	if err != nil {
		return "", err
	}
	if p == nil { // refused because the hold had ended
		if err := f.awaitReservation(ctx, held); err != nil {
			return "", err
		}
		if held.Status != Cancelled {
			return "", fmt.Errorf("the payment of reservation %s was refused, and then it was %s", held.ID, held.Status)
		}
		return EndExpired, nil
	}
	if f.rec.Plan == PlanPayTwice {
		if err := f.payAgain(ctx, held, p); err != nil {
			return "", err
		}
	}
	end, err := f.settle(ctx, held, p, start)
	if err != nil || end != EndConfirmed {
		return end, err
	}
	switch {
	case f.rec.Plan == PlanTransfer:
		return f.transfer(ctx, held, p)
	case f.rec.Plan == PlanRefund, f.crowd.cfg.Churn && f.chance.Float64() < 0.8:
		if err := f.think(ctx); err != nil {
			return "", err
		}
		return f.refund(ctx, held, p)
	}
	return end, nil
}

// settle follows a payment of a reservation to its end.
func (f *fan) settle(ctx context.Context, held *Reservation, p *Payment, start time.Time) (End, error) {
	if err := f.awaitPayment(ctx, p, Processing); err != nil {
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
	return EndLate, f.awaitPayment(ctx, p, Success)
}

func stepName(step, card string) string {
	if card == CardTimeout {
		return step + ", timed-out card"
	}
	return step
}

func (f *fan) letExpire(ctx context.Context, held *Reservation) (End, error) {
	if err := Sleep(ctx, time.Until(held.Expires)); err != nil {
		return "", err
	}
	if err := f.awaitReservation(ctx, held); err != nil {
		return "", err
	}
	if held.Status != Cancelled {
		return "", fmt.Errorf("reservation %s was not paid and is %s after its hold", held.ID, held.Status)
	}
	f.crowd.meter.Observe("hold timeout", max(time.Since(held.Expires), 0))
	return EndExpired, nil
}

func (f *fan) cancel(ctx context.Context, held *Reservation) (End, error) {
	call := Call{Step: "cancel", Method: http.MethodDelete, Path: "/api/me/tickets/" + held.ID, Token: f.rec.Token,
		// A repeat after a lost answer, or a hold that just ended.
		Accept: []int{http.StatusNotFound, http.StatusConflict, http.StatusGone}}
	if _, err := f.client.Do(ctx, call, nil); err != nil {
		return "", err
	}
	if err := f.awaitReservation(ctx, held); err != nil {
		return "", err
	}
	if held.Status != Cancelled {
		return "", fmt.Errorf("reservation %s was cancelled and is %s", held.ID, held.Status)
	}
	return EndCancelled, nil
}

func (f *fan) refund(ctx context.Context, held *Reservation, p *Payment) (End, error) {
	start := time.Now()
	p.GaveBack = true
	call := Call{Method: http.MethodPost, Path: "/api/payments/" + p.ID + "/refund", Token: f.rec.Token,
		Accept: []int{http.StatusConflict}} // a repeat after a lost answer
	if _, err := f.client.Do(ctx, call, nil); err != nil {
		return "", err
	}
	if err := f.awaitPayment(ctx, p, Success); err != nil {
		return "", err
	}
	if p.Status != Refunded {
		return "", fmt.Errorf("payment %s was refunded and is %s", p.ID, p.Status)
	}
	f.crowd.meter.Observe("refund", time.Since(start))
	held.Status = Confirmed // the last answer; now it must change
	err := f.poll(ctx, func() (bool, error) {
		err := f.askReservation(ctx, held)
		return held.Status == Cancelled, err
	})
	if err != nil {
		return "", fmt.Errorf("reservation %s after its refund: %w", held.ID, err)
	}
	return EndRefunded, nil
}

// think is the pause of a person between two steps.
func (f *fan) think(ctx context.Context) error { return think(ctx, f.chance, f.crowd.cfg.Think) }

func think(ctx context.Context, chance *rand.Rand, longest time.Duration) error {
	if longest < 0 {
		return ctx.Err()
	}
	return Sleep(ctx, time.Duration(chance.Int64N(int64(longest)+1)))
}

var errStuck = errors.New("nothing changed within the fan's patience")

// poll polls until done, less often the longer it takes.
func (f *fan) poll(ctx context.Context, done func() (bool, error)) error {
	deadline := time.Now().Add(f.crowd.cfg.Patience)
	for wait := 60 * time.Millisecond; ; wait = min(wait*5/4, 500*time.Millisecond) {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%w of %v", errStuck, f.crowd.cfg.Patience)
		}
		if err := Sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// awaitPayment asks until the payment is in another state.
func (f *fan) awaitPayment(ctx context.Context, p *Payment, than string) error {
	err := f.poll(ctx, func() (bool, error) {
		var a PaymentAnswer
		_, err := f.client.Do(ctx, Call{Step: "ask", Method: http.MethodGet, Path: "/api/payments/" + p.ID, Token: f.rec.Token}, &a)
		if err == nil {
			p.Status = a.Status
		}
		return p.Status != than, err
	})
	if err != nil {
		return fmt.Errorf("payment %s, %s: %w", p.ID, p.Status, err)
	}
	return nil
}

// awaitReservation asks until the reservation is no longer pending.
func (f *fan) awaitReservation(ctx context.Context, held *Reservation) error {
	err := f.poll(ctx, func() (bool, error) {
		err := f.askReservation(ctx, held)
		return held.Status != Held, err
	})
	if err != nil {
		return fmt.Errorf("reservation %s, %s: %w", held.ID, held.Status, err)
	}
	return nil
}

func (f *fan) askReservation(ctx context.Context, held *Reservation) error {
	var t Ticket
	if err := f.guarded(ctx, held.EventID, Call{Step: "ask", Method: http.MethodGet, Path: "/api/reservations/" + held.ID}, &t, nil); err != nil {
		return err
	}
	held.Status = t.Status
	return nil
}
