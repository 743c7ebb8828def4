package api

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/millrace-go/millrace/bus"
	"github.com/millrace-go/millrace/bus/redrive"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/artist"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/booking"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/catalog"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/chat"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/inbox"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ops"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/payment"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/social"
	"github.com/millrace-go/millrace/examples/boxoffice/internal/ticket"
	"github.com/millrace-go/millrace/fault"
)

// known has the answers to errors that say all by themselves. An error that wraps several
// has the first answer.
var known = []struct {
	err error
	is  *problem
}{
	{chat.ErrNoRoom, newProblem(http.StatusNotFound, "room-not-found", "No such room", "there is no room with this id; each show has one, GET /api/shows lists them")},
	{chat.ErrNotJoined, newProblem(http.StatusForbidden, "not-joined", "Join the room first", "only who has joined the room writes in it; POST /api/rooms/{id}/join joins it")},
	{chat.ErrText, invalid("text", `the field "text" must be 1 to %d characters of text`, chat.MaxText)},
	{chat.ErrOrigin, newProblem(http.StatusForbidden, "origin-refused", "The page is from another site", "pages of other sites cannot open a room here")},
	{chat.ErrUpgrade, newProblem(http.StatusUpgradeRequired, "upgrade-required", "A WebSocket is needed", "open this address as a WebSocket; GET /api/rooms/{id}/messages reads the room without one").withHeader("Upgrade", "websocket").withHeader("Connection", "Upgrade")},
	{chat.ErrClosed, newProblem(http.StatusServiceUnavailable, "no-sockets", "No sockets now", "the process takes no more sockets now; GET /api/rooms/{id}/messages reads the room").withHeader("Retry-After", "2")},
	{ops.ErrNoTopic, newProblem(http.StatusNotFound, "dead-letter-topic-not-found", "No such dead letter topic", "no consumer has this dead letter topic; GET /api/admin/ops lists them")},
	{ops.ErrPass, newProblem(http.StatusConflict, "dead-letters-busy", "Dead letters are being changed", "somebody redrives, drops or edits letters of this topic; repeat it when that is over").withHeader("Retry-After", "2")},
	{ops.ErrNoGroup, newProblem(http.StatusNotFound, "group-not-found", "No such consumer group", "no consumer has this topic and group; GET /api/admin/groups lists them")},
	{bus.ErrGroupLive, newProblem(http.StatusConflict, "group-live", "The group has members", "stop the group's consumers, and repeat it; a member that has crashed counts for some seconds more")},
	{errors.ErrUnsupported, newProblem(http.StatusConflict, "groups-unsupported", "The transport cannot do that", "groups of this transport cannot be looked at or reset")},
	{redrive.ErrNotFound, newProblem(http.StatusNotFound, "dead-letter-not-found", "No such dead letter", "the topic has no dead letter with this id, or none any more")},
	{catalog.ErrNoShow, newProblem(http.StatusNotFound, "show-not-found", "No such show", "there is no show with this id; GET /api/shows lists them")},
	{booking.ErrNotFound, newProblem(http.StatusNotFound, "reservation-not-found", "No such reservation", "you have no reservation with this id")},
	{booking.ErrHandedOn, newProblem(http.StatusConflict, "transferred", "The ticket was transferred", "a ticket that was transferred can't be given back")},
	{booking.ErrUsed, newProblem(http.StatusConflict, "ticket-used", "The ticket was used", "a seat of this ticket was used at the door; it can be neither given back nor handed on")},
	{ticket.ErrNotFound, newProblem(http.StatusNotFound, "reservation-not-found", "No such reservation", "you have no reservation with this id")},
	{payment.ErrNoTransfer, newProblem(http.StatusNotFound, "transfer-not-found", "No such transfer", "there is no transfer with this id that you may decide about; GET /api/me/transfers lists yours")},
	{payment.ErrNotFound, newProblem(http.StatusNotFound, "payment-not-found", "No such payment", "you have no payment with this id")},
	{payment.ErrKeyReused, newProblem(http.StatusUnprocessableEntity, "key-reused", "The Idempotency-Key was used before", "this Idempotency-Key belongs to another request; take a new key for a new payment")},
	{payment.ErrUnknownCard, newProblem(http.StatusUnprocessableEntity, "unknown-card", "Not a test card", "the simulated gateway takes test cards only: 4242424242424242 approves, 4000000000000002 declines, 4000000000000341 times out; never enter a real card").with("field", "card")},
	{payment.ErrSelfTransfer, newProblem(http.StatusUnprocessableEntity, "self-transfer", "The ticket is yours already", "toMemberId is your own id; name another member").with("field", "toMemberId")},
	{payment.ErrTransferring, newProblem(http.StatusConflict, "transfer-in-progress", "A transfer is under way", "a transfer of this ticket is under way; withdraw its offer, or wait for its end")},
	{payment.ErrRefunding, newProblem(http.StatusConflict, "refund-in-progress", "A refund is under way", "this ticket is being given back")},
	{social.ErrNoComment, newProblem(http.StatusNotFound, "comment-not-found", "No such comment", "there is no comment with this id")},
	{social.ErrNotYours, newProblem(http.StatusForbidden, "not-your-comment", "Not your comment", "only who wrote a comment can delete it")},
	{social.ErrNoMember, newProblem(http.StatusNotFound, "member-not-found", "No such member", "nobody with this id has signed in yet")},
	{social.ErrSelf, newProblem(http.StatusUnprocessableEntity, "self-follow", "That is you", "nobody follows themselves; name another member")},
	{social.ErrNoVote, newProblem(http.StatusNotFound, "vote-not-found", "No such vote", "the show has no vote")},
	{social.ErrNoOption, newProblem(http.StatusUnprocessableEntity, "unknown-option", "No such option", "there is no such option; the answer of GET lists them").with("field", "option").with("options", social.Options())},
	{social.ErrVoteClosed, newProblem(http.StatusConflict, "vote-closed", "The vote is over", "the vote is over; your choice was not changed")},
	{inbox.ErrNotFound, newProblem(http.StatusNotFound, "notification-not-found", "No such notification", "you have no notification with this id")},
	{artist.ErrBadID, invalid("id", "the artist's id must have 1 to 64 letters, digits, _ and -")},
	{artist.ErrUnknown, newProblem(http.StatusNotFound, "artist-not-found", "No such artist", "the artist's API has no artist with this id; it is asked again after an hour")},
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
	var resting *artist.RestingError
	if errors.As(err, &p) {
		return p
	}
	for _, k := range known {
		if errors.Is(err, k.err) {
			return k.is
		}
	}
	switch {
	case errors.Is(err, redrive.ErrPayload):
		return newProblem(http.StatusUnprocessableEntity, "payload-refused", "The payload does not fit", "%s", payloadRefused(err)).with("field", "payload")
	case errors.As(err, &unknown):
		return newProblem(http.StatusNotFound, "seat-not-found", "No such seat", "the show has no seat %s", list(unknown.Seats)).with("seats", unknown.Seats)
	case errors.As(err, &taken):
		return newProblem(http.StatusConflict, "seat-taken", "Seats are taken", "somebody else has %s; nothing was held, choose other seats", list(taken.Seats)).with("seats", taken.Seats)
	case errors.As(err, &limit):
		return seatLimit(limit)
	case errors.As(err, &ticketless):
		return newProblem(http.StatusConflict, "no-ticket", "There is no ticket", "%s; only a confirmed reservation has tickets", text(ticketless))
	case errors.As(err, &decided):
		return newProblem(http.StatusConflict, "transfer-decided", "The offer has ended", "%s; only an open offer can be accepted, declined or withdrawn", text(decided)).
			with("transferStatus", decided.Status).with("reason", decided.Reason)
	case errors.As(err, &amount):
		return newProblem(http.StatusUnprocessableEntity, "wrong-amount", "The amount is wrong", "the amount is %d, expected %d", amount.Got, amount.Expected).with("expected", amount.Expected).with("field", "amount")
	case errors.As(err, &before):
		return newProblem(http.StatusConflict, "already-paid", "The reservation has a payment already", "the reservation has the payment %s, which is %s; nothing was charged again", before.PaymentID, before.Status).with("paymentId", before.PaymentID)
	case errors.As(err, &ended):
		return newProblem(http.StatusConflict, "hold-ended", "The reservation no longer waits for a payment", "%s; nothing was charged", text(ended)).with("reservationStatus", ended.Status)
	case errors.As(err, &unconfirmed):
		return newProblem(http.StatusConflict, "not-confirmed", "The ticket is not confirmed", "%s; only a confirmed ticket can be transferred", text(unconfirmed))
	case errors.As(err, &unrefundable):
		return newProblem(http.StatusConflict, "not-refundable", "The payment can't be refunded", "%s", text(unrefundable))
	case errors.As(err, &resting):
		seconds := int(math.Ceil(max(resting.For, time.Second).Seconds()))
		return newProblem(http.StatusConflict, "artist-resting", "The last refresh failed",
			"the artist's API has just failed for this artist; repeat the request after %d seconds", seconds).withHeader("Retry-After", strconv.Itoa(seconds))
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
	if _, text, ok := strings.Cut(err.Error(), ": "); ok {
		return text
	}
	return err.Error()
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
