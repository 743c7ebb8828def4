package queuehttp

import (
	"net/http"
	"strconv"
	"time"

	"github.com/millrace-go/millrace/queue"
)

// appendPlace appends the answer to a visitor, as JSON. ticket, entry and gate are
// of base64url or of an escaped path, in which JSON has nothing to escape. It is
// the answer of every poll: reflection would cost more than all the rest.
func appendPlace(b []byte, p queue.Place, ticket, entry, gate string) []byte {
	b = append(b, `{"status":"`...)
	switch p.Status {
	case queue.Active:
		b = append(b, `active","queued":false`...)
	case queue.Waiting:
		b = append(b, `queued","queued":true`...)
	default:
		b = append(b, `none","queued":false`...)
	}
	b = number(b, `,"position":`, int64(p.Position))
	b = number(b, `,"peopleAhead":`, int64(p.Ahead))
	b = number(b, `,"peopleBehind":`, int64(p.Behind))
	switch {
	case p.Status == queue.Active:
		b = append(b, `,"estimatedWait":0`...)
	case p.WaitKnown:
		b = number(b, `,"estimatedWait":`, up(p.Wait))
		b = number(b, `,"estimatedWaitLow":`, up(p.WaitLow))
		b = number(b, `,"estimatedWaitHigh":`, up(p.WaitHigh))
	default:
		b = append(b, `,"estimatedWait":null`...)
	}
	b = append(b, `,"nextPoll":`...)
	b = strconv.AppendFloat(b, float64(p.NextPoll.Milliseconds())/1000, 'f', -1, 64)
	if p.Status == queue.Waiting {
		b = number(b, `,"keep":`, int64(p.Keep/time.Second))
	}
	b = number(b, `,"currentUsers":`, int64(p.Active))
	b = number(b, `,"threshold":`, int64(p.Threshold))
	b = number(b, `,"queueSize":`, int64(p.Waiting))
	b = text(b, `,"entryToken":`, entry)
	if p.Status == queue.Active {
		b = number(b, `,"expiresIn":`, int64(p.Entry.Left/time.Second))
	}
	if ticket != "" {
		b = text(b, `,"ticket":`, ticket)
	}
	if p.Turn {
		b = append(b, `,"turn":true`...)
	}
	if p.SoldOut {
		b = append(b, `,"soldOut":true`...)
	}
	if p.Returner {
		b = append(b, `,"returner":true`...)
	}
	b = append(b, `,"paused":`...)
	b = strconv.AppendBool(b, p.Paused)
	b = number(b, `,"settling":`, up(p.Settling))
	if p.Opens > 0 {
		b = number(b, `,"opensIn":`, up(p.Opens))
	}
	if gate != "" {
		b = append(b, `,"gated":true`...)
		b = text(b, `,"redirectTo":`, gate)
	}
	return append(b, '}', '\n')
}

// appendState appends the answer to an operator, as JSON.
func appendState(b []byte, s queue.State) []byte {
	b = number(b, `{"threshold":`, int64(s.Threshold))
	b = append(b, `,"paused":`...)
	b = strconv.AppendBool(b, s.Paused)
	if s.Stock.Known {
		b = number(b, `,"stock":`, int64(s.Stock.Left))
	}
	b = append(b, `,"gated":`...)
	b = strconv.AppendBool(b, s.Gated)
	b = number(b, `,"settling":`, up(s.Settling))
	b = number(b, `,"currentUsers":`, int64(s.Active))
	b = number(b, `,"entitled":`, int64(s.Entitled))
	b = number(b, `,"queueSize":`, int64(s.Waiting))
	b = append(b, `,"admittedPerSecond":`...)
	if s.Rate.Over > 0 {
		b = strconv.AppendFloat(b, float64(s.Rate.Admitted)/s.Rate.Over.Seconds(), 'f', 2, 64)
	} else {
		b = append(b, `null`...)
	}
	b = number(b, `,"joined":`, s.Joined)
	b = number(b, `,"entered":`, s.Entered)
	b = number(b, `,"noShows":`, s.NoShows)
	b = number(b, `,"expired":`, s.Expired)
	b = number(b, `,"departed":`, s.Departed)
	b = number(b, `,"swept":`, s.Swept)
	b = number(b, `,"returning":`, int64(s.Returning))
	b = number(b, `,"returned":`, s.Returned)
	b = appendShares(b, s.Lanes[:])
	if s.Challenge != nil {
		b = strconv.AppendBool(append(b, `,"challenged":`...), *s.Challenge)
	}
	if !s.Opens.IsZero() {
		b = append(b, `,"opens":"`...)
		b = append(s.Opens.UTC().AppendFormat(b, time.RFC3339Nano), '"')
	}
	return append(b, '}', '\n')
}

func number(b []byte, name string, n int64) []byte {
	return strconv.AppendInt(append(b, name...), n, 10)
}

func text(b []byte, name, s string) []byte {
	b = append(b, name...)
	if s == "" {
		return append(b, `null`...)
	}
	b = append(b, '"')
	b = append(b, s...)
	return append(b, '"')
}

// up is a duration in whole seconds, rounded up.
func up(d time.Duration) int64 {
	n := int64(d / time.Second)
	if d%time.Second > 0 {
		n++
	}
	return n
}

// answer writes the JSON that grow appends, with a pooled buffer.
func (h *Handlers) answer(w http.ResponseWriter, grow func([]byte) []byte) {
	b := h.buffers.Get().(*[]byte)
	*b = grow((*b)[:0])
	write(w, http.StatusOK, "application/json", *b)
	h.buffers.Put(b)
}

// appendShares appends the shares of lanes by their names, if there are any.
func appendShares(b []byte, lanes []queue.Lane) []byte {
	before := `,"shares":{"`
	for _, lane := range lanes {
		if lane.Name == "" {
			break
		}
		b = append(append(append(b, before...), lane.Name...), `":`...)
		b = strconv.AppendFloat(b, lane.Share, 'g', -1, 64)
		before = `,"`
	}
	if before != `,"` {
		return b
	}
	return append(b, '}')
}
