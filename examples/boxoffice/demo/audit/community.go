package audit

import (
	"context"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
)

// posted is a comment or a chat message as the box office has it.
type posted struct{ id, place, text string }

// judgeCommunity compares the shows and their rooms with the answers to fans.
func (a *audit) judgeCommunity(ctx context.Context) {
	comments, messages, known := 0, 0, map[string]bool{}
	for _, rec := range a.records {
		known[rec.Member] = true
		if c := rec.Community.Comment; c != nil && c.ID != "" {
			comments++
		}
		for _, m := range rec.Community.Messages {
			if m.ID != "" {
				messages++
			}
		}
	}
	a.find.Announce(checkComments, "%d comments", comments)
	if !a.s.Foreign {
		a.find.Announce(checkCounts, "each show tells as many as are listed")
	}
	a.find.Announce(checkChat, "%d messages", messages)
	v := visitor{client: a.s.Office.Client}
	shows, err := v.arrive(ctx)
	if err != nil {
		a.find.Fault(checkComments, "the shows: %v", err)
		return
	}
	listed := map[string]int64{}
	var wrote, said []posted
	for _, show := range shows {
		all, err := v.comments(ctx, show.ID)
		if err != nil {
			a.find.Fault(checkComments, "the comments on %s: %v", show.ID, err)
		}
		listed[show.ID] = int64(len(all))
		for _, c := range all {
			if known[c.MemberID] {
				wrote = append(wrote, posted{c.ID, show.ID, c.Text})
			}
		}
		room, err := v.room(ctx, show.ID)
		if err != nil {
			a.find.Fault(checkChat, "the room of %s: %v", show.ID, err)
		}
		for i, m := range room {
			if m.Seq != int64(i)+1 {
				a.find.Fault(checkChat, "the message after place %d in the room of %s has place %d", i, show.ID, m.Seq)
			}
			if known[m.SenderID] {
				said = append(said, posted{m.ID, show.ID, m.Message})
			}
		}
	}
	a.judgePosted(checkComments, wrote, func(rec *crowd.Record) []*crowd.Said {
		if rec.Community.Comment == nil {
			return nil
		}
		return []*crowd.Said{rec.Community.Comment}
	})
	a.judgePosted(checkChat, said, func(rec *crowd.Record) []*crowd.Said { return rec.Community.Messages })
	a.judgeOrder(said)
	a.judgeAlerts(said)
	if !a.s.Foreign {
		a.judgeCounts(ctx, v, listed)
	}
}

// judgePosted compares the stored posts with the answers to fans. A post that a fan
// sent more than once, or has no answer for, may be stored as often as it was sent;
// no two posts of a fan have the same text.
func (a *audit) judgePosted(check string, there []posted, told func(*crowd.Record) []*crowd.Said) {
	ids, texts := map[string]int{}, map[posted]int{}
	for _, p := range there {
		ids[p.id]++
		texts[posted{place: p.place, text: p.text}]++
	}
	for _, rec := range a.records {
		for _, s := range told(rec) {
			at := posted{place: s.Place, text: s.Text}
			copies, most := texts[at], s.Sent
			delete(texts, at)
			switch n := ids[s.ID]; {
			case s.ID == "": // the outcome is unknown
			case s.Deleted:
				most-- // the one that it deleted
				if n > 0 {
					a.find.Fault(check, "%q of %s was deleted and is there", s.Text, rec.Member)
				}
			case s.Deleting:
			case n != 1:
				a.find.Fault(check, "%q of %s (%s) is there %d times", s.Text, rec.Member, s.ID, n)
			}
			if copies > most {
				a.find.Fault(check, "%q of %s was sent %d times and is there %d times", s.Text, rec.Member, s.Sent, copies)
			}
		}
	}
	for p := range texts {
		a.find.Fault(check, "%q is on %s, and no fan said so", p.text, p.place)
	}
}

// judgeOrder compares the order in each room with the order in which each fan's
// messages were accepted; each was sent after the answer to the last.
func (a *audit) judgeOrder(said []posted) {
	place := map[string]int{}
	for i, p := range said { // rooms one after the other, and a fan is in one
		place[p.id] = i
	}
	for _, rec := range a.records {
		last := -1
		for _, m := range rec.Community.Messages {
			at, ok := place[m.ID]
			if !ok {
				continue // lost, which is another finding
			}
			if at < last {
				a.find.Fault(checkChat, "%q of %s is before the message it sent before", m.Text, rec.Member)
			}
			last = at
		}
	}
}
