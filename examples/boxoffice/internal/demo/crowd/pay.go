package crowd

import (
	"context"
	"fmt"
	"net/http"
	"sync"
)

// newKey makes a payment key, the same one in every run of a seed. The run's
// name keeps crowds apart that visit one box office.
func (f *fan) newKey() string {
	return fmt.Sprintf("pay-%s-%d-%d", f.crowd.cfg.Run, f.index, len(f.rec.Payments)+1)
}

// pay asks to pay for a hold. It returns nil when the box office refuses
// because the hold has ended.
func (f *fan) pay(ctx context.Context, held *Reservation, card string) (*Payment, error) {
	p := &Payment{Key: f.newKey(), Type: "reservation", Subject: held.ID, Card: card, Amount: held.Amount}
	f.rec.Payments = append(f.rec.Payments, p)
	code, a, err := f.postPayment(ctx, held, p)
	if err != nil {
		return nil, err
	}
	if code == http.StatusConflict || code == http.StatusGone {
		// Nothing was paid, and nothing must be found under this key.
		f.rec.Payments = f.rec.Payments[:len(f.rec.Payments)-1]
		return nil, nil
	}
	if code != http.StatusAccepted || a.PaymentID == "" {
		return nil, fmt.Errorf("a payment was answered with %d %+v, not 202", code, a)
	}
	p.ID, p.Status = a.PaymentID, Processing
	return p, nil
}

func (f *fan) postPayment(ctx context.Context, held *Reservation, p *Payment) (code int, a PaymentAnswer, err error) {
	call := Call{Step: "pay", Method: http.MethodPost, Path: "/api/payments", Key: p.Key,
		Body:   map[string]any{"reservationId": held.ID, "amount": p.Amount, "card": p.Card},
		Accept: []int{http.StatusConflict, http.StatusGone}}
	// Payments ask for no entry token by contract; it is sent because a
	// stricter box office may want it.
	call.Token, call.Entry = f.rec.Token, f.entry[held.EventID]
	code, err = f.client.Do(ctx, call, &a)
	return code, a, err
}

// payAgain repeats a payment with its own key three times at once, as an
// impatient person or a retrying proxy does. Each answer must be the first one.
func (f *fan) payAgain(ctx context.Context, held *Reservation, p *Payment) error {
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
			r.code, r.a, r.err = f.postPayment(ctx, held, p)
		})
	}
	wg.Wait()
	for _, r := range replies {
		f.crowd.meter.Count(countTwice)
		switch {
		case r.err != nil:
			return r.err
		case r.code >= 300 || r.a.PaymentID != p.ID:
			return fmt.Errorf("payment key %s gave payment %s first and then %d %q", p.Key, p.ID, r.code, r.a.PaymentID)
		}
	}
	return nil
}

func (f *fan) buyMembership(ctx context.Context) (End, error) {
	p := &Payment{Key: f.newKey(), Type: "membership", Card: CardApproved, Amount: f.crowd.cfg.Membership}
	err := f.buy(ctx, "membership", Call{Path: "/api/memberships",
		Body: map[string]any{"amount": p.Amount, "card": p.Card}}, p)
	return EndMember, err
}

// transfer offers a confirmed reservation to a friend, and the friend accepts it.
func (f *fan) transfer(ctx context.Context, held *Reservation, paid *Payment) (_ End, err error) {
	friend := &Friend{Member: f.rec.Member + "-friend"}
	if friend.Token, err = f.signIn(ctx, friend.Member); err != nil {
		return "", err
	}
	f.rec.Friend = friend
	p := &Payment{Key: f.newKey(), Type: "transfer", Subject: held.ID, Card: CardApproved, Amount: paid.Amount}
	paid.GaveBack = true
	a, err := f.ask(ctx, "transfer", Call{Path: "/api/transfers",
		Body: map[string]any{"reservationId": held.ID, "toMemberId": friend.Member, "amount": p.Amount, "card": p.Card}}, p)
	if err != nil {
		return "", err
	}
	consent := Call{Step: "accept", Method: http.MethodPost, Path: "/api/transfers/" + a.TransferID + "/accept", Token: friend.Token}
	if _, err := f.client.Do(ctx, consent, nil); err != nil {
		return "", err
	}
	return EndTransferred, f.awaitPaid(ctx, "transfer", p)
}

// buy pays for something that is no reservation, and waits until it is paid.
func (f *fan) buy(ctx context.Context, step string, call Call, p *Payment) error {
	if _, err := f.ask(ctx, step, call, p); err != nil {
		return err
	}
	return f.awaitPaid(ctx, step, p)
}

// ask asks for a payment.
func (f *fan) ask(ctx context.Context, step string, call Call, p *Payment) (a PaymentAnswer, err error) {
	f.rec.Payments = append(f.rec.Payments, p)
	call.Step, call.Method, call.Key, call.Token = step, http.MethodPost, p.Key, f.rec.Token
	code, err := f.client.Do(ctx, call, &a)
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
func (f *fan) awaitPaid(ctx context.Context, step string, p *Payment) error {
	if err := f.awaitPayment(ctx, p, Processing); err != nil {
		return err
	}
	if p.Status != Success {
		return fmt.Errorf("the payment %s of a %s is %s although the card approves", p.ID, step, p.Status)
	}
	p.Confirmed = true
	return nil
}
