package crowd

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// buyer pays, and has money refunded.
type buyer struct {
	*visitor
	index int // of the fan
}

// newKey makes a payment key, the same one in every run of a seed. The run's
// name keeps crowds apart that visit one box office.
func (b buyer) newKey() string {
	return fmt.Sprintf("pay-%s-%d-%d", b.crowd.cfg.Run, b.index, len(b.rec.Payments)+1)
}

// pay asks to pay for a hold. It returns nil when the box office refuses
// because the hold has ended.
func (b buyer) pay(ctx context.Context, held *Reservation, card string) (*Payment, error) {
	p := &Payment{Key: b.newKey(), Type: "reservation", Subject: held.ID, Card: card, Amount: held.Amount}
	b.rec.Payments = append(b.rec.Payments, p)
	code, a, err := b.postPayment(ctx, held, p)
	if err != nil {
		return nil, err
	}
	if code == http.StatusConflict || code == http.StatusGone {
		// Nothing was paid, and nothing must be found under this key.
		b.rec.Payments = b.rec.Payments[:len(b.rec.Payments)-1]
		return nil, nil
	}
	if code != http.StatusAccepted || a.PaymentID == "" {
		return nil, fmt.Errorf("a payment was answered with %d %+v, not 202", code, a)
	}
	p.ID, p.Status = a.PaymentID, Processing
	return p, nil
}

func (b buyer) postPayment(ctx context.Context, held *Reservation, p *Payment) (code int, a PaymentAnswer, err error) {
	call := Call{Step: "pay", Method: http.MethodPost, Path: "/api/payments", Key: p.Key,
		Body:   map[string]any{"reservationId": held.ID, "amount": p.Amount, "card": p.Card},
		Accept: []int{http.StatusConflict, http.StatusGone}}
	// Payments ask for no entry token by contract; it is sent because a
	// stricter box office may want it.
	call.Token, call.Entry = b.rec.Token, b.entry[held.EventID]
	code, err = b.client.Do(ctx, call, &a)
	return code, a, err
}

// payAgain repeats a payment with its own key three times at once, as an
// impatient person or a retrying proxy does. Each answer must be the first one.
func (b buyer) payAgain(ctx context.Context, held *Reservation, p *Payment) error {
	type reply struct {
		code int
		a    PaymentAnswer
		err  error
	}
	replies := make([]reply, 3)
	var wg sync.WaitGroup
	for i := range replies {
		wg.Go(func() {
			r := &replies[i]
			r.code, r.a, r.err = b.postPayment(ctx, held, p)
		})
	}
	wg.Wait()
	for _, r := range replies {
		b.crowd.meter.Count(countTwice)
		switch {
		case r.err != nil:
			return r.err
		case r.code >= 300 || r.a.PaymentID != p.ID:
			return fmt.Errorf("payment key %s gave payment %s first and then %d %q", p.Key, p.ID, r.code, r.a.PaymentID)
		}
	}
	return nil
}

func (b buyer) buyMembership(ctx context.Context) (End, error) {
	p := &Payment{Key: b.newKey(), Type: "membership", Card: CardApproved, Amount: b.crowd.cfg.Membership}
	err := b.buy(ctx, "membership", Call{Path: "/api/memberships",
		Body: map[string]any{"amount": p.Amount, "card": p.Card}}, p)
	return EndMember, err
}

// transfer offers a confirmed reservation to a friend, and the friend accepts it.
func (b buyer) transfer(ctx context.Context, held *Reservation, paid *Payment) (_ End, err error) {
	friend := &Friend{Member: b.rec.Member + "-friend"}
	if friend.Token, err = b.signIn(ctx, friend.Member); err != nil {
		return "", err
	}
	b.rec.Friend = friend
	p := &Payment{Key: b.newKey(), Type: "transfer", Subject: held.ID, Card: CardApproved, Amount: paid.Amount}
	paid.GaveBack = true
	a, err := b.ask(ctx, "transfer", Call{Path: "/api/transfers",
		Body: map[string]any{"reservationId": held.ID, "toMemberId": friend.Member, "amount": p.Amount, "card": p.Card}}, p)
	if err != nil {
		return "", err
	}
	consent := Call{Step: "accept", Method: http.MethodPost, Path: "/api/transfers/" + a.TransferID + "/accept", Token: friend.Token}
	if _, err := b.client.Do(ctx, consent, nil); err != nil {
		return "", err
	}
	return EndTransferred, b.awaitPaid(ctx, "transfer", p)
}

// buy pays for something that is no reservation, and waits until it is paid.
func (b buyer) buy(ctx context.Context, step string, call Call, p *Payment) error {
	if _, err := b.ask(ctx, step, call, p); err != nil {
		return err
	}
	return b.awaitPaid(ctx, step, p)
}

// ask asks for a payment.
func (b buyer) ask(ctx context.Context, step string, call Call, p *Payment) (a PaymentAnswer, err error) {
	b.rec.Payments = append(b.rec.Payments, p)
	call.Step, call.Method, call.Key, call.Token = step, http.MethodPost, p.Key, b.rec.Token
	code, err := b.client.Do(ctx, call, &a)
	if err != nil {
		return a, err
	}
	if code != http.StatusAccepted || a.PaymentID == "" {
		return a, fmt.Errorf("a %s was answered with %d %+v, not 202", step, code, a)
	}
	p.ID, p.Status = a.PaymentID, Processing
	return a, nil
}

// awaitPaid waits until a card that approves has paid.
func (b buyer) awaitPaid(ctx context.Context, step string, p *Payment) error {
	if err := b.awaitPayment(ctx, p, Processing); err != nil {
		return err
	}
	if p.Status != Success {
		return fmt.Errorf("the payment %s of a %s is %s although the card approves", p.ID, step, p.Status)
	}
	p.Confirmed = true
	return nil
}

func (b buyer) refund(ctx context.Context, held *Reservation, p *Payment) (End, error) {
	start := time.Now()
	p.GaveBack = true
	call := Call{Method: http.MethodPost, Path: "/api/payments/" + p.ID + "/refund", Token: b.rec.Token,
		Accept: []int{http.StatusConflict}} // a repeat after a lost answer
	if _, err := b.client.Do(ctx, call, nil); err != nil {
		return "", err
	}
	if err := b.awaitPayment(ctx, p, Success); err != nil {
		return "", err
	}
	if p.Status != Refunded {
		return "", fmt.Errorf("payment %s was refunded and is %s", p.ID, p.Status)
	}
	b.crowd.meter.Observe("refund", time.Since(start))
	held.Status = Confirmed // the last answer; now it must change
	err := b.poll(ctx, func() (bool, error) {
		err := b.askReservation(ctx, held)
		return held.Status == Cancelled, err
	})
	if err != nil {
		return "", fmt.Errorf("reservation %s after its refund: %w", held.ID, err)
	}
	return EndRefunded, nil
}

// awaitPayment asks until the payment is in another state.
func (b buyer) awaitPayment(ctx context.Context, p *Payment, than string) error {
	err := b.poll(ctx, func() (bool, error) {
		var a PaymentAnswer
		_, err := b.client.Do(ctx, Call{Step: "ask", Method: http.MethodGet, Path: "/api/payments/" + p.ID, Token: b.rec.Token}, &a)
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
