package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/redrive"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ticket"
	"github.com/millrace-go/millrace/fault"
)

// problem is an error answer. more holds members of its own.
type problem struct {
	status int
	name   string // below /problems/
	title  string
	detail string
	more   map[string]any
	header map[string]string
}

func (p *problem) Error() string { return p.name + ": " + p.detail }

func newProblem(status int, name, title, format string, args ...any) *problem {
	return &problem{status: status, name: name, title: title, detail: fmt.Sprintf(format, args...)}
}

// with adds a member of its own.
func (p *problem) with(key string, value any) *problem {
	if p.more == nil {
		p.more = map[string]any{}
	}
	p.more[key] = value
	return p
}

func (p *problem) withHeader(name, value string) *problem {
	if p.header == nil {
		p.header = map[string]string{}
	}
	p.header[name] = value
	return p
}

func (p *problem) write(w http.ResponseWriter) {
	for k, v := range p.header {
		w.Header().Set(k, v)
	}
	writeJSON(w, p.status, "application/problem+json", p.body())
}

// body is the problem document.
func (p *problem) body() map[string]any {
	body := map[string]any{"type": "/problems/" + p.name, "title": p.title, "status": p.status, "detail": p.detail}
	for k, v := range p.more {
		body[k] = v
	}
	return body
}

// invalid is a request with a field or body that the route does not accept.
func invalid(field, format string, args ...any) *problem {
	p := newProblem(http.StatusBadRequest, "invalid-request", "The request is not what this route takes", format, args...)
	if field != "" {
		return p.with("field", field)
	}
	return p
}

func signIn(why error) *problem {
	return newProblem(http.StatusUnauthorized, "sign-in-required", "Sign in first",
		"the sign-in token is %s; POST /api/login gives one for the header Authorization: Bearer", words(why)).
		with("reason", why.Error()).withHeader("WWW-Authenticate", `Bearer realm="boxoffice"`)
}

// words reads a token error aloud.
func words(err error) string {
	switch {
	case errors.Is(err, auth.ErrMissing):
		return "missing"
	case errors.Is(err, auth.ErrExpired):
		return "expired"
	}
	return "not valid"
}

// problemOf finds the answer to an error. classify judges the database's.
func problemOf(err error, classify fault.Classifier) *problem {
	var p *problem
	var taken *catalog.TakenError
	var unknown *catalog.UnknownSeatsError
	var limit *booking.LimitError
	var amount *payment.AmountError
	var before *payment.PaidBeforeError
	var ended *payment.HoldEndedError
	var unconfirmed *payment.NotConfirmedError
	var unrefundable *payment.NotRefundableError
	var decided *payment.DecidedError
	var ticketless *ticket.NotConfirmedError
	switch {
	case errors.As(err, &p):
		return p
	case errors.Is(err, ops.ErrNoTopic):
		return newProblem(http.StatusNotFound, "dead-letter-topic-not-found", "No such dead letter topic", "no consumer has this dead letter topic; GET /api/admin/ops lists them")
	case errors.Is(err, ops.ErrPass):
		return newProblem(http.StatusConflict, "dead-letters-busy", "Dead letters are being changed", "somebody redrives, drops or edits letters of this topic; repeat it when that is over").withHeader("Retry-After", "2")
	case errors.Is(err, ops.ErrNoGroup):
		return newProblem(http.StatusNotFound, "group-not-found", "No such consumer group", "no consumer has this topic and group; GET /api/admin/groups lists them")
	case errors.Is(err, bus.ErrGroupLive):
		return newProblem(http.StatusConflict, "group-live", "The group has members", "stop the group's consumers, and repeat it; a member that has crashed counts for some seconds more")
	case errors.Is(err, errors.ErrUnsupported):
		return newProblem(http.StatusConflict, "groups-unsupported", "The transport cannot do that", "groups of this transport cannot be looked at or reset")
	case errors.Is(err, redrive.ErrNotFound):
		return newProblem(http.StatusNotFound, "dead-letter-not-found", "No such dead letter", "the topic has no dead letter with this id, or none any more")
	case errors.Is(err, redrive.ErrPayload):
		return newProblem(http.StatusUnprocessableEntity, "payload-refused", "The payload does not fit", "%s", payloadRefused(err)).with("field", "payload")
	case errors.Is(err, catalog.ErrNoShow):
		return newProblem(http.StatusNotFound, "show-not-found", "No such show", "there is no show with this id; GET /api/shows lists them")
	case errors.As(err, &unknown):
		return newProblem(http.StatusNotFound, "seat-not-found", "No such seat", "the show has no seat %s", list(unknown.Seats)).with("seats", unknown.Seats)
	case errors.As(err, &taken):
		return newProblem(http.StatusConflict, "seat-taken", "Seats are taken", "somebody else has %s; nothing was held, choose other seats", list(taken.Seats)).with("seats", taken.Seats)
	case errors.As(err, &limit):
		return seatLimit(limit)
	case errors.Is(err, booking.ErrNotFound):
		return newProblem(http.StatusNotFound, "reservation-not-found", "No such reservation", "you have no reservation with this id")
	case errors.Is(err, booking.ErrHandedOn):
		return newProblem(http.StatusConflict, "transferred", "The ticket was transferred", "a ticket that was transferred can't be given back")
	case errors.Is(err, booking.ErrUsed):
		return newProblem(http.StatusConflict, "ticket-used", "The ticket was used", "a seat of this ticket was used at the door; it can be neither given back nor handed on")
	case errors.Is(err, ticket.ErrNotFound):
		return newProblem(http.StatusNotFound, "reservation-not-found", "No such reservation", "you have no reservation with this id")
	case errors.As(err, &ticketless):
		return newProblem(http.StatusConflict, "no-ticket", "There is no ticket", "%s; only a confirmed reservation has tickets", text(ticketless))
	case errors.Is(err, payment.ErrNoTransfer):
		return newProblem(http.StatusNotFound, "transfer-not-found", "No such transfer", "there is no transfer with this id that you may decide about; GET /api/me/transfers lists yours")
	case errors.As(err, &decided):
		return newProblem(http.StatusConflict, "transfer-decided", "The offer has ended", "%s; only an open offer can be accepted, declined or withdrawn", text(decided)).
			with("transferStatus", decided.Status).with("reason", decided.Reason)
	case errors.Is(err, payment.ErrNotFound):
		return newProblem(http.StatusNotFound, "payment-not-found", "No such payment", "you have no payment with this id")
	case errors.Is(err, payment.ErrKeyReused):
		return newProblem(http.StatusUnprocessableEntity, "key-reused", "The Idempotency-Key was used before", "this Idempotency-Key belongs to another request; take a new key for a new payment")
	case errors.Is(err, payment.ErrUnknownCard):
		return newProblem(http.StatusUnprocessableEntity, "unknown-card", "Not a test card", "the simulated gateway takes test cards only: 4242424242424242 approves, 4000000000000002 declines, 4000000000000341 times out; never enter a real card").with("field", "card")
	case errors.As(err, &amount):
		return newProblem(http.StatusUnprocessableEntity, "wrong-amount", "The amount is wrong", "the amount is %d, expected %d", amount.Got, amount.Expected).with("expected", amount.Expected).with("field", "amount")
	case errors.As(err, &before):
		return newProblem(http.StatusConflict, "already-paid", "The reservation has a payment already", "the reservation has the payment %s, which is %s; nothing was charged again", before.PaymentID, before.Status).with("paymentId", before.PaymentID)
	case errors.As(err, &ended):
		return newProblem(http.StatusConflict, "hold-ended", "The reservation no longer waits for a payment", "%s; nothing was charged", text(ended)).with("reservationStatus", ended.Status)
	case errors.As(err, &unconfirmed):
		return newProblem(http.StatusConflict, "not-confirmed", "The ticket is not confirmed", "%s; only a confirmed ticket can be transferred", text(unconfirmed))
	case errors.Is(err, payment.ErrSelfTransfer):
		return newProblem(http.StatusUnprocessableEntity, "self-transfer", "The ticket is yours already", "toMemberId is your own id; name another member").with("field", "toMemberId")
	case errors.Is(err, payment.ErrTransferring):
		return newProblem(http.StatusConflict, "transfer-in-progress", "A transfer is under way", "a transfer of this ticket is under way; withdraw its offer, or wait for its end")
	case errors.Is(err, payment.ErrRefunding):
		return newProblem(http.StatusConflict, "refund-in-progress", "A refund is under way", "this ticket is being given back")
	case errors.As(err, &unrefundable):
		return newProblem(http.StatusConflict, "not-refundable", "The payment can't be refunded", "%s", text(unrefundable))
	}
	return unexpected(err, classify)
}

// unexpected is for errors that the client did not cause. Their text goes to the log
// only.
func unexpected(err error, classify fault.Classifier) *problem {
	class := fault.Of(err, classify)
	if class == fault.Infrastructure || errors.Is(err, context.DeadlineExceeded) || classify(err) == fault.Transient {
		return newProblem(http.StatusServiceUnavailable, "unavailable", "Not available at the moment",
			"the box office can't do this at the moment; repeat the request, a payment with the same Idempotency-Key").withHeader("Retry-After", "2")
	}
	return newProblem(http.StatusInternalServerError, "internal", "Something went wrong here",
		"something went wrong in the box office; it was written to its log")
}

// payloadRefused explains the refusal of an edited payload.
func payloadRefused(err error) string {
	_, why, ok := strings.Cut(err.Error(), redrive.ErrPayload.Error()+": ")
	if !ok {
		return "it cannot take the place of the one that is there"
	}
	return why
}

// text is an error's message without the package's name.
func text(err error) string {
	s := err.Error()
	for i := range s {
		if s[i] == ':' && i+2 < len(s) {
			return s[i+2:]
		}
	}
	return s
}

func list(seats []string) string {
	b, err := json.Marshal(seats)
	if err != nil || len(b) < 2 {
		return "these seats"
	}
	return string(b[1 : len(b)-1])
}

// seatLimit names the limit of a show that was reached, and the member's remainder.
func seatLimit(e *booking.LimitError) *problem {
	rule := "a member holds at most %d at once"
	if e.Limit == booking.LimitBought {
		rule = "a member buys at most %d, those that are held included"
	}
	return newProblem(http.StatusConflict, "seat-limit", "More seats than a member may have",
		"you hold %d seats of this show and bought %d; "+rule+"; you asked for %d and may hold %d more; nothing was held",
		e.Held, e.Bought, e.Max, e.Asked, e.Remaining()).
		with("limit", e.Limit).with("max", e.Max).with("held", e.Held).with("bought", e.Bought).with("remaining", e.Remaining())
}
