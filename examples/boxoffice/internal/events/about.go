package events

import "github.com/millrace-go/millrace/event"

// about sets an event's target and subject from its data:
//
//	type                                          targetid              refid
//	MemberFollowed                                the member followed   the same
//	ShowLiked, ShowUnliked, PostLiked             the show              the same
//	CommentCreated, CommentCountDeltaPublished    the show              the comment
//	VoteClosed                                    the show              the same, whose vote it is
//	ReservationCreated, -Confirmed, -Cancelled    the show              the reservation
//	ReservationNotice, TransferNotice             the member told       the reservation, the transfer
//	OrderCompleted                                the show              the reservation
//	PaymentSuccess, PaymentFailed,
//	PaymentRefunded                               -                     the saga that was paid for
//	TransferCompleted, TransferCancelled          the receiver          the reservation
//	ChatMessageSent                               the room              the message
//
// The actor is the follower, the member that liked or wrote, or the owner of the
// reservation.
func about(e *event.Event, data any) {
	switch d := data.(type) {
	case Liked:
		e.TargetID, e.RefID = e.AggregateID, e.AggregateID
	case Counted:
		e.TargetID, e.RefID = e.AggregateID, d.CommentID
	case Created:
		e.TargetID, e.RefID = d.ScheduleID, e.AggregateID
	case Confirmed:
		e.TargetID, e.RefID = d.ScheduleID, e.AggregateID
	case Cancelled:
		e.TargetID, e.RefID = d.ScheduleID, e.AggregateID
	case Ordered:
		e.TargetID, e.RefID = e.AggregateID, d.ReservationID
	case Paid:
		e.RefID = d.SagaID
	case NotPaid:
		e.RefID = d.SagaID
	case PaidBack:
		e.RefID = d.SagaID
	case Transferred:
		e.TargetID, e.RefID = d.ToMemberID, d.ReservationID
	case Sent:
		e.TargetID, e.RefID = d.RoomID, e.ID
	case Noticed:
		e.TargetID, e.RefID = d.RefID, d.RefID
		switch e.Type {
		case CommentCreated:
			e.RefID = e.AggregateID
		case ReservationNotice, TransferNotice:
			e.TargetID = d.MemberID
		}
	}
}
