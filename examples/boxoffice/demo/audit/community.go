package audit

import (
	"context"

	"github.com/millrace-go/millrace/examples/boxoffice/demo/crowd"
	"github.com/millrace-go/millrace/examples/boxoffice/demo/judge"
)

// posted is a comment or a chat message as the box office has it.
type posted struct{ id, place, text string }

// community compares what is posted with what fans posted.
type community struct {
	s       Subject
	find    *judge.Findings
	records []*crowd.Record
}

// judge compares the shows and their rooms with the answers to fans.
func (o community) judge(ctx context.Context) {
	comments, messages, known := 0, 0, map[string]bool{}
	for _, rec := range o.records {
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
	o.find.Announce(checkComments, "%d comments", comments)
	if !o.s.Foreign {
		o.find.Announce(checkCounts, "each show tells as many as are listed")
	}
	o.find.Announce(checkChat, "%d messages", messages)
	v := visitor{client: o.s.Office.Client}
	shows, err := v.arrive(ctx)
	if err != nil {
		o.find.Fault(checkComments, "the shows: %v", err)
		return
	}
	listed := map[string]int64{}
	var wrote, said []posted
	for _, show := range shows {
		all, err := v.comments(ctx, show.ID)
		if err != nil {
			o.find.Fault(checkComments, "the comments on %s: %v", show.ID, err)
		}
		listed[show.ID] = int64(len(all))
		for _, c := range all {
			if known[c.MemberID] {
				wrote = append(wrote, posted{c.ID, show.ID, c.Text})
			}
		}
		room, err := v.room(ctx, show.ID)
		if err != nil {
			o.find.Fault(checkChat, "the room of %s: %v", show.ID, err)
		}
		for i, m := range room {
			if m.Seq != int64(i)+1 {
				o.find.Fault(checkChat, "the message after place %d in the room of %s has place %d", i, show.ID, m.Seq)
			}
			if known[m.SenderID] {
				said = append(said, posted{m.ID, show.ID, m.Message})
			}
		}
	}
	o.posted(checkComments, wrote, func(rec *crowd.Record) []*crowd.Said {
		if rec.Community.Comment == nil {
			return nil
		}
		return []*crowd.Said{rec.Community.Comment}
	})
	o.posted(checkChat, said, func(rec *crowd.Record) []*crowd.Said { return rec.Community.Messages })
	o.order(said)
	o.alerts(said)
	if !o.s.Foreign {
		o.counts(ctx, v, listed)
	}
}

// posted compares the stored posts with the answers to fans. A post that a fan
// sent more than once, or has no answer for, may be stored as often as it was sent;
// no two posts of a fan have the same text.
func (o community) posted(check string, there []posted, told func(*crowd.Record) []*crowd.Said) {
	ids, texts := map[string]int{}, map[posted]int{}
	for _, p := range there {
		ids[p.id]++
		texts[posted{place: p.place, text: p.text}]++
	}
	for _, rec := range o.records {
		for _, s := range told(rec) {
			at := posted{place: s.Place, text: s.Text}
			copies, most := texts[at], s.Sent
			delete(texts, at)
			switch n := ids[s.ID]; {
			case s.ID == "": // the outcome is unknown
			case s.Deleted:
				most-- // the one that it deleted
				if n > 0 {
					o.find.Fault(check, "%q of %s was deleted and is there", s.Text, rec.Member)
				}
			case s.Deleting:
			case n != 1:
				o.find.Fault(check, "%q of %s (%s) is there %d times", s.Text, rec.Member, s.ID, n)
			}
			if copies > most {
				o.find.Fault(check, "%q of %s was sent %d times and is there %d times", s.Text, rec.Member, s.Sent, copies)
			}
		}
	}
	for p := range texts {
		o.find.Fault(check, "%q is on %s, and no fan said so", p.text, p.place)
	}
}

// order compares the order in each room with the order in which each fan's
// messages were accepted; each was sent after the answer to the last.
func (o community) order(said []posted) {
	place := map[string]int{}
	for i, p := range said { // rooms one after the other, and a fan is in one
		place[p.id] = i
	}
	for _, rec := range o.records {
		last := -1
		for _, m := range rec.Community.Messages {
			at, ok := place[m.ID]
			if !ok {
				continue // lost, which is another finding
			}
			if at < last {
				o.find.Fault(checkChat, "%q of %s is before the message it sent before", m.Text, rec.Member)
			}
			last = at
		}
	}
}

// alerts checks that the chat alerts of streams are in the rooms.
func (o community) alerts(said []posted) {
	rooms := map[string]string{}
	for _, p := range said {
		rooms[p.id] = p.place
	}
	for id, room := range o.s.Crowd.Alerts() {
		if is, ok := rooms[id]; !ok && !o.s.Foreign || ok && is != room {
			o.find.Fault(checkKept, "a stream told of message %s in the room of %s, and it is not there", id, room)
		}
	}
}
