// Package events names the topics, the consumer groups, the types of events and their
// payloads, by which the parts of the box office communicate. The names and the JSON
// are contracts: messages outlive the program that wrote them, and other programs may
// read them.
//
//	topic               events (key)                                              groups
//	payment.events      PaymentSuccess, PaymentFailed, PaymentRefunded (member)   reservation-payment-consumer, event-payment-consumer,
//	                                                                              ticket-service-group, stats-service-group
//	reservation.events  ReservationCreated, -Confirmed, -Cancelled (member)       event-reservation-consumer, stats-service-group
//	transfer.events     TransferCompleted, TransferCancelled (transfer)           stats-service-group
//	membership.events   MembershipActivated (membership)                          stats-service-group
//	like-events         ShowLiked, ShowUnliked (show)                             like-service-group
//	order-events        OrderCompleted (show)                                     order-service-group
//	product-events      ShowViewed (show)                                         product-service-group, in batches
//	stock-events        ShowSoldOut (show)                                        stock-service-group
//	domain_events       ChatMessageSent (room)                                    chat_persist_queue, chat_fanout_queue
//	                    CommentCountDeltaPublished (show)                         aggregate_queue
//	                    MemberFollowed, PostLiked, CommentCreated, VoteClosed,
//	                    ReservationNotice, TransferNotice (member;
//	                    VoteClosed: show)                                         notification_queue
//
// An event has an actor (actorid), a target (targetid) and a subject (refid); see
// about.go. Its correlationid is that of the request that caused it, also when the
// work went on later: of the request that paid, or that asked for the refund, or that
// made the reservation that was then not paid for. An event that only a timer caused
// has none, and the events that follow from it have the id of that event.
//
// Every event is keyed, so the events of one member's payments and reservations are
// handled in the order of their commits.
package events

import (
	"context"
	"time"

	"github.com/millrace-go/millrace/event"
)

// Source of every event.
const Source = "/boxoffice"

// Topics.
const (
	Payments     = "payment.events"
	Reservations = "reservation.events"
	Transfers    = "transfer.events"
	Memberships  = "membership.events"
	Likes        = "like-events"
	Orders       = "order-events"
	Products     = "product-events"
	Stock        = "stock-events"
	Domain       = "domain_events"
)

// Consumer groups.
const (
	GroupReservation = "reservation-payment-consumer" // confirms and cancels reservations
	GroupSold        = "event-payment-consumer"       // marks seats sold
	GroupTickets     = "ticket-service-group"         // transfers and memberships
	GroupRelease     = "event-reservation-consumer"   // frees the seats of cancelled reservations
	GroupStats       = "stats-service-group"
	GroupLikes       = "like-service-group"
	GroupOrders      = "order-service-group"
	GroupViews       = "product-service-group" // in batches
	GroupStock       = "stock-service-group"   // evicts the cached show

	// The queues of domain_events.
	GroupNotifications = "notification_queue"
	GroupCounts        = "aggregate_queue"
	GroupChatPersist   = "chat_persist_queue"
	GroupChatFanout    = "chat_fanout_queue"
)

// Types of events.
const (
	PaymentSuccess       = "PaymentSuccess"
	PaymentFailed        = "PaymentFailed"
	PaymentRefunded      = "PaymentRefunded"
	ReservationCreated   = "ReservationCreated"
	ReservationConfirmed = "ReservationConfirmed"
	ReservationCancelled = "ReservationCancelled"
	TransferCompleted    = "TransferCompleted"
	TransferCancelled    = "TransferCancelled"
	MembershipActivated  = "MembershipActivated"
	ShowLiked            = "ShowLiked"
	ShowUnliked          = "ShowUnliked"
	OrderCompleted       = "OrderCompleted"
	ShowViewed           = "ShowViewed"
	ShowSoldOut          = "ShowSoldOut"

	ChatMessageSent            = "ChatMessageSent"
	CommentCountDeltaPublished = "CommentCountDeltaPublished"
	MemberFollowed             = "MemberFollowed"
	PostLiked                  = "PostLiked"
	CommentCreated             = "CommentCreated"
	VoteClosed                 = "VoteClosed"
	ReservationNotice          = "ReservationNotice"
	TransferNotice             = "TransferNotice"
)

// Types of payments.
const (
	ForReservation = "reservation"
	ForTransfer    = "transfer"
	ForMembership  = "membership"
)

// Paid is the data of PaymentSuccess. ReservationID is empty for a membership; SagaID
// is the paid reservation, transfer or membership.
type Paid struct {
	PaymentID            string    `json:"paymentId"`
	PaymentKey           string    `json:"paymentKey"`
	ReservationID        string    `json:"reservationId"`
	Amount               int64     `json:"amount"`
	PaidAt               time.Time `json:"paidAt"`
	PortoneTransactionID string    `json:"portoneTransactionId"`
	PaymentType          string    `json:"paymentType"`
	SagaID               string    `json:"sagaId"`
}

// NotPaid is the data of PaymentFailed.
type NotPaid struct {
	PaymentID     string    `json:"paymentId"`
	PaymentKey    string    `json:"paymentKey"`
	ReservationID string    `json:"reservationId"`
	Amount        int64     `json:"amount"`
	FailureReason string    `json:"failureReason"`
	FailedAt      time.Time `json:"failedAt"`
	PaymentType   string    `json:"paymentType"`
	SagaID        string    `json:"sagaId"`
}

// PaidBack is the data of PaymentRefunded.
type PaidBack struct {
	PaymentID            string    `json:"paymentId"`
	PaymentKey           string    `json:"paymentKey"`
	ReservationID        string    `json:"reservationId"`
	Amount               int64     `json:"amount"`
	Reason               string    `json:"reason"`
	RefundedAt           time.Time `json:"refundedAt"`
	PortoneTransactionID string    `json:"portoneTransactionId"`
	PaymentType          string    `json:"paymentType"`
	SagaID               string    `json:"sagaId"`
}

// Created is the data of ReservationCreated; the reservation is the event's
// aggregate, as in the two events below. ScheduleID is the show.
type Created struct {
	ScheduleID    string    `json:"scheduleId"`
	SeatIDs       []string  `json:"seatIds"`
	Amount        int64     `json:"amount"`
	HoldExpiresAt time.Time `json:"holdExpiresAt"`
	CreatedAt     time.Time `json:"createdAt"`
}

// Confirmed is the data of ReservationConfirmed.
type Confirmed struct {
	ScheduleID  string    `json:"scheduleId"`
	SeatIDs     []string  `json:"seatIds"`
	PaymentID   string    `json:"paymentId"`
	ConfirmedAt time.Time `json:"confirmedAt"`
}

// Cancelled is the data of ReservationCancelled. Reason is USER_REQUEST,
// PAYMENT_FAILED, HOLD_TIMEOUT or REFUNDED.
type Cancelled struct {
	ScheduleID  string    `json:"scheduleId"`
	SeatIDs     []string  `json:"seatIds"`
	CancelledAt time.Time `json:"cancelledAt"`
	Reason      string    `json:"reason"`
}

// The outcomes of a transfer, in its TransferNotice.
const (
	TransferOffered   = "OFFERED"   // the receiver is told
	TransferAccepted  = "ACCEPTED"  // the sender
	TransferDeclined  = "DECLINED"  // the sender
	TransferWithdrawn = "WITHDRAWN" // the receiver
	TransferExpired   = "EXPIRED"   // both, as in the following
	TransferDone      = "COMPLETED"
	TransferFailed    = "FAILED"
)

// Transferred is the data of TransferCompleted and, with a Reason, of
// TransferCancelled.
type Transferred struct {
	TransferID    string    `json:"transferId"`
	ReservationID string    `json:"reservationId"`
	FromMemberID  string    `json:"fromMemberId"`
	ToMemberID    string    `json:"toMemberId"`
	Amount        int64     `json:"amount"`
	Reason        string    `json:"reason,omitempty"`
	SettledAt     time.Time `json:"settledAt"`
}

// Activated is the data of MembershipActivated.
type Activated struct {
	MembershipID string    `json:"membershipId"`
	MemberID     string    `json:"memberId"`
	Amount       int64     `json:"amount"`
	ActivatedAt  time.Time `json:"activatedAt"`
	ExpiresAt    time.Time `json:"expiresAt"`
}

// Liked is the data of ShowLiked and ShowUnliked; the show is the event's
// aggregate, as in the next four.
type Liked struct {
	MemberID string    `json:"memberId"`
	LikedAt  time.Time `json:"likedAt"`
}

// Ordered is the data of OrderCompleted.
type Ordered struct {
	ReservationID string    `json:"reservationId"`
	Seats         int       `json:"seats"`
	Amount        int64     `json:"amount"`
	OrderedAt     time.Time `json:"orderedAt"`
}

// Viewed is the data of ShowViewed: MemberID is empty without a sign-in.
type Viewed struct {
	MemberID string    `json:"memberId,omitempty"`
	ViewedAt time.Time `json:"viewedAt"`
}

// SoldOut is the data of ShowSoldOut.
type SoldOut struct {
	SoldOutAt time.Time `json:"soldOutAt"`
}

// Counted is the data of CommentCountDeltaPublished: Delta is 1 or -1.
type Counted struct {
	CommentID string `json:"commentId"`
	Delta     int64  `json:"delta"`
}

// Sent is the data of ChatMessageSent; the room is the event's aggregate, and the
// event's id that of the message.
type Sent struct {
	RoomID   string    `json:"roomId"`
	SenderID string    `json:"senderId"`
	Message  string    `json:"message"`
	SentAt   time.Time `json:"sentAt"`
}

// Noticed is the data of the events that cause notifications. MemberID is the actor,
// or the owner of the reservation; empty for VoteClosed. RefID is the subject: the
// member followed, the show (of a comment, too), the reservation.
//
// Params are the parameters of a sentence in the language of its reader (package
// notices). Message is that sentence in English. It is for readers that do not know
// the Params: those of the release before, and other programs.
//
//	type                notification  recipients
//	MemberFollowed      FOLLOW        the member followed
//	PostLiked           POST_LIKE     the followers of the actor
//	CommentCreated      COMMENT       the followers of the actor
//	VoteClosed          VOTE_CLOSED   all voters of the show RefID
//	ReservationNotice   RESERVATION   the member
//	TransferNotice      TRANSFER      the member
type Noticed struct {
	MemberID string       `json:"memberId,omitempty"`
	RefID    string       `json:"refId"`
	Params   NoticeParams `json:"params,omitzero"`
	Message  string       `json:"message"`
	At       time.Time    `json:"at"`
}

// NoticeParams are the parameters of a notification. A type has those of its row; a
// notification that was stored before there were parameters has none.
//
//	FOLLOW              Member, the follower
//	POST_LIKE, COMMENT  Member, the actor; Show
//	VOTE_CLOSED         Show; Songs, those that most voted for
//	RESERVATION         Show, Seats, Outcome; Reason unless the outcome is CONFIRMED
//	TRANSFER            Member, the other one; Show, Seats, Outcome
type NoticeParams struct {
	Member string `json:"member,omitempty"`
	// Show is the title of the show.
	Show  string   `json:"show,omitempty"`
	Seats []string `json:"seats,omitempty"`
	// Outcome is one of the Outcome constants; for a transfer, one of the constants that
	// begin with Transfer.
	Outcome string `json:"outcome,omitempty"`
	// Reason is the reason of ReservationCancelled, or LATE for a payment after its
	// reservation had ended.
	Reason string   `json:"reason,omitempty"`
	Songs  []string `json:"songs,omitempty"`
}

// The outcomes of a reservation, for its member. OutcomeRefunded is about money that
// came too late: its reservation had ended before.
const (
	OutcomeConfirmed = "CONFIRMED"
	OutcomeCancelled = "CANCELLED"
	OutcomeRefunded  = "REFUNDED"
)

// maxCause is the longest id that a row stores.
const maxCause = 128

// Causes returns the correlation id of the work of ctx, and the id of the event that
// it handles, if any: for work that goes on later, from a row. A foreign event may
// have ids that are too long for a row: they are left out.
func Causes(ctx context.Context) (correlation, causation string) {
	e := event.Event{}.In(ctx)
	if len(e.CorrelationID) > maxCause || len(e.CausationID) > maxCause {
		return "", ""
	}
	return e.CorrelationID, e.CausationID
}

// New makes an event about an aggregate that a member acted on. It is ordered by the
// member when byMember is set, else by the aggregate. Its target and its subject
// follow from the data.
func New(typ, aggregateType, aggregateID, member string, byMember bool, data any) (event.Event, error) {
	e, err := event.New(typ, Source, data)
	if err != nil {
		return event.Event{}, err
	}
	e.AggregateType, e.AggregateID, e.ActorID = aggregateType, aggregateID, member
	if byMember {
		e.PartitionKey = member
	}
	about(&e, data)
	return e, nil
}

// Time converts the database's milliseconds.
func Time(ms int64) time.Time { return time.UnixMilli(ms).UTC() }
