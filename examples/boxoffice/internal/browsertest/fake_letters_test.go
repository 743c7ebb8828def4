package browsertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// fakeLetters are the dead letters of the fake's one topic that has some.
type fakeLetters struct {
	all     []*fakeLetter
	asked   []string // the actions, and to how many letters
	portion int      // how many a call redrives before it says that there are more; 0 for all
}

type fakeLetter struct {
	ID            string            `json:"id"`
	Type          string            `json:"type"`
	Key           string            `json:"key"`
	OriginalTopic string            `json:"originalTopic"`
	Group         string            `json:"group"`
	Reason        string            `json:"reason"`
	Class         string            `json:"class"`
	Error         string            `json:"error"`
	Attempts      int               `json:"attempts"`
	Redrives      int               `json:"redrives"`
	Edits         int               `json:"edits"`
	At            string            `json:"at"`
	FirstFailure  string            `json:"firstFailure"`
	Worker        string            `json:"worker"`
	Stack         string            `json:"stack"`
	EventError    string            `json:"eventError"`
	Metadata      map[string]string `json:"metadata"`
	Payload       string            `json:"payload"`
	Encoding      string            `json:"encoding"`
}

const fakeDead = "dlq.payment"

// buried makes n dead letters of a few kinds.
func buried(n int) fakeLetters {
	var l fakeLetters
	for i := range n {
		at := time.Date(2026, 3, 1, 19, 4, 5+i, 0, time.UTC).Format(time.RFC3339)
		letter := &fakeLetter{
			ID: fmt.Sprintf("0199a7c2-7f00-7abc-8def-%012d", i), Type: "PaymentSuccess", Key: fmt.Sprint("user-", i), OriginalTopic: "payment.events",
			Group: "event-payment-consumer", Reason: "PERMANENT", Class: "permanent", Error: "catalog: no such seat: Z-99", Attempts: 1,
			At: at, FirstFailure: at, Worker: "box-1", Metadata: map[string]string{"content-type": "application/cloudevents+json", "dlq_group": "event-payment-consumer"},
			Payload:  fmt.Sprintf(`{"specversion":"1.0","id":"%012d","type":"PaymentSuccess","data":{"amount":%d}}`, i, 1000*(i+1)),
			Encoding: "utf-8",
		}
		if i%3 == 1 {
			letter.Group, letter.Reason, letter.Class, letter.Attempts, letter.Redrives = "ticket-service-group", "PANIC", "transient", 4, 2
			letter.Error = "panic: runtime error: invalid memory address or nil pointer dereference"
			letter.Stack = "goroutine 81 [running]:\nmain.(*tickets).transfer(0x0, {0xc000123456, 0x24})\n\t/app/tickets.go:118 +0x1f4"
		}
		l.all = append(l.all, letter)
	}
	return l
}

// report is the topic as the page's report shows it: newest first.
func (l *fakeLetters) report() map[string]any {
	recent := slices.Clone(l.all)
	slices.Reverse(recent)
	return map[string]any{"topic": fakeDead, "count": len(l.all), "recent": recent[:min(len(recent), 20)]}
}

// letterRoutes serve an operator's actions on dead letters.
func (f *fake) letterRoutes(mux *http.ServeMux) {
	handle := func(pattern string, do func(r *http.Request) (int, any)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Authorization") != "Bearer "+fakeAdmin || r.PathValue("topic") != fakeDead {
				problem(w, 403, "Operators only", "This is not the admin token.")
				return
			}
			f.mu.Lock()
			code, body := do(r)
			f.mu.Unlock()
			if p, bad := body.(fault); bad {
				problem(w, code, p.title, p.detail)
				return
			}
			answer(w, code, body)
		})
	}
	handle("GET /api/admin/dead-letters/{topic}/{id}", func(r *http.Request) (int, any) {
		i := f.letters.find(r.PathValue("id"))
		if i < 0 {
			return 404, fault{"No such dead letter", ""}
		}
		return 200, f.letters.all[i]
	})
	handle("PUT /api/admin/dead-letters/{topic}/{id}", func(r *http.Request) (int, any) {
		var in struct{ Payload, Encoding string }
		if json.NewDecoder(r.Body).Decode(&in) != nil || !strings.Contains(in.Payload, `"specversion"`) {
			return 422, map[string]any{"type": "/problems/payload-refused", "title": "The payload does not fit", "detail": "it is no event", "status": 422}
		}
		letter := f.letters.all[f.letters.find(r.PathValue("id"))]
		letter.Payload, letter.Edits = in.Payload, letter.Edits+1
		f.letters.asked = append(f.letters.asked, "edit "+in.Payload)
		return 204, nil
	})
	for _, what := range []string{"redrive", "drop"} {
		handle("POST /api/admin/dead-letters/{topic}/"+what, func(r *http.Request) (int, any) { return f.letters.change(what, r) })
	}
}

func (l *fakeLetters) find(id string) int {
	return slices.IndexFunc(l.all, func(letter *fakeLetter) bool { return letter.ID == id })
}

func (l *fakeLetters) change(what string, r *http.Request) (int, any) {
	var in struct {
		IDs    []string
		All    bool
		DryRun bool
		Before string
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.All == (len(in.IDs) > 0) {
		return 400, fault{"Say which letters", ""}
	}
	before := len(l.all)
	out := map[string]any{"failed": []any{}, "more": false}
	switch {
	case in.DryRun:
		out["done"] = before
	case in.All:
		n := before
		if l.portion > 0 {
			n = min(n, l.portion)
		}
		l.all = l.all[n:]
		out["done"], out["more"], out["before"] = n, len(l.all) > 0, "2026-03-01T20:00:00Z"
	default:
		l.all = slices.DeleteFunc(l.all, func(letter *fakeLetter) bool { return slices.Contains(in.IDs, letter.ID) })
		out["done"] = before - len(l.all)
	}
	l.asked = append(l.asked, strings.TrimSpace(fmt.Sprintf("%s %v dry=%v %s", what, out["done"], in.DryRun, in.Before)))
	return 200, out
}
