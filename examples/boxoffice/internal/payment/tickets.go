package payment

import (
	"context"
	"database/sql"

	"github.com/millrace-go/millrace/event"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/events"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/store"
	"github.com/millrace-go/millrace/fault"
)

// Consumers is the group that completes transfers and memberships after their
// payments.
func (p *Payments) Consumers() []store.Consumer {
	return []store.Consumer{{Topic: events.Payments, Group: events.GroupTickets, Handlers: map[string]store.Handler{
		events.PaymentSuccess: p.paid,
		events.PaymentFailed:  p.notPaid,
	}}}
}

func (p *Payments) paid(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
	var paid events.Paid
	if err := e.UnmarshalData(&paid); err != nil {
		return "", fault.MarkPermanent(err)
	}
	switch paid.PaymentType {
	case events.ForTransfer:
		return p.Offers.handOn(ctx, tx, e, paid)
	case events.ForMembership:
		return p.Club.activate(ctx, tx, e, paid)
	}
	return "not a ticket", nil
}

func (p *Payments) notPaid(ctx context.Context, tx *sql.Tx, e event.Event) (string, error) {
	var failed events.NotPaid
	if err := e.UnmarshalData(&failed); err != nil {
		return "", fault.MarkPermanent(err)
	}
	switch failed.PaymentType {
	case events.ForTransfer:
		return p.Offers.cancel(ctx, tx, e, failed)
	case events.ForMembership:
		return p.Club.cancel(ctx, tx, failed)
	}
	return "not a ticket", nil
}
