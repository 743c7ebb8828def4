package queuehttp_test

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/queue/driver"
	"github.com/millrace-go/millrace/queue/queuehttp"
)

// Two people, one place: the second waits until the first leaves.
func TestTwoPeopleOnePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 1, nil)
		s.admit(t)
		alice, bob, carol := s.browser("alice"), s.browser("bob"), s.browser("carol")

		bob.want(bob.do("GET", "/api/queue/status/show-1", ""), "none", 0, 0, 0)
		bob.want(bob.do("POST", "/api/queue/heartbeat/show-1", ""), "none", 0, 0, 0)

		in := alice.check("show-1")
		alice.want(in, "active", 0, 0, 0)
		if in.body.EntryToken == "" || in.body.ExpiresIn != 600 || in.body.CurrentUsers != 1 || in.body.Threshold != 1 || in.body.NextPoll < 3 || in.body.NextPoll > 3.3 {
			t.Errorf("alice: %s", in.text)
		}
		first := bob.check("show-1")
		bob.want(first, "queued", 1, 0, 0)
		if first.body.Ticket == "" || first.body.EntryToken != "" || first.body.QueueSize != 1 || first.body.EstimatedWait == nil || *first.body.EstimatedWait < 300 || *first.body.EstimatedWait > 600 || first.body.NextPoll < 1 || first.body.NextPoll > 1.1 {
			t.Errorf("bob: %s", first.text)
		}
		carol.want(carol.check("show-1"), "queued", 2, 1, 0)
		time.Sleep(pollPause)
		for _, again := range []reply{bob.check("show-1"), bob.do("GET", "/api/queue/status/show-1", ""), bob.do("POST", "/api/queue/heartbeat/show-1", "")} {
			bob.want(again, "queued", 1, 0, 1)
			if again.body.Ticket != "" || len(again.set) != 0 {
				t.Errorf("a ticket that is still right came again: %s", again.text)
			}
		}

		if a := alice.do("POST", "/api/queue/leave/show-1", ""); a.status != 204 || a.text != "" || len(alice.cookies) != 0 {
			t.Errorf("alice leaves: %d %q, cookies %v", a.status, a.text, alice.cookies)
		}
		time.Sleep(pollPause)
		turn := bob.check("show-1")
		bob.want(turn, "active", 0, 0, 0)
		if a := bob.do("GET", "/seats/show-1", ""); a.status != 200 {
			t.Errorf("bob with the cookie: %d %s", a.status, a.text)
		}
		time.Sleep(pollPause)
		carol.want(carol.check("show-1"), "queued", 1, 0, 0)

		assert.Equal(t, 204, bob.do("POST", "/api/queue/done/show-1", "").status, "bob is done")
		time.Sleep(pollPause)
		carol.want(carol.check("show-1"), "active", 0, 0, 0)
	})
}

// The fields that clients rely on are always there.
func TestAnswerHasAllFields(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 1, nil)
		for i, a := range []reply{s.browser("nobody").do("GET", "/api/queue/status/show-1", ""), s.browser("alice").check("show-1"), s.browser("bob").check("show-1")} {
			for _, field := range []string{"status", "queued", "position", "peopleAhead", "peopleBehind", "estimatedWait", "nextPoll", "currentUsers", "threshold", "queueSize", "entryToken", "paused", "settling"} {
				if a.fields[field] == nil {
					t.Errorf("answer %d has no %s: %s", i, field, a.text)
				}
			}
			if a.header.Get("Content-Type") != "application/json" || a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("answer %d: %v", i, a.header)
			}
		}
	})
}

func TestWaitIsUnknownWhilePaused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 1, nil)
		s.browser("alice").check("show-1")
		if a := s.browser("admin").do("POST", "/api/queue/admin/pause/show-1", ""); a.status != 200 || !a.body.Paused {
			t.Fatalf("pause: %d %s", a.status, a.text)
		}
		bob := s.browser("bob")
		a := bob.check("show-1")
		bob.want(a, "queued", 1, 0, 0)
		if string(a.fields["estimatedWait"]) != "null" || !a.body.Paused {
			t.Errorf("while paused: %s", a.text)
		}
	})
}

// A poll with a ticket costs no call of the store, whether it comes in the header
// or in the cookie.
func TestTicketSavesTheStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 1, nil)
		s.browser("alice").check("show-1")
		bob := s.browser("bob")
		ticket := bob.check("show-1").body.Ticket
		time.Sleep(pollPause)
		bob.check("show-1") // makes the snapshot new
		before := s.store.visits.Load()
		bob.want(bob.check("show-1"), "queued", 1, 0, 0)
		api := s.browser("bob")
		api.header.Set("x-queue-ticket", ticket)
		a := api.check("show-1")
		api.want(a, "queued", 1, 0, 0)
		assert.Empty(t, a.set, "who brings the ticket in the header gets cookies")
		if after := s.store.visits.Load(); after != before {
			t.Errorf("two polls with a ticket made %d visits", after-before)
		}
		// Another user's ticket is ignored, and does no harm.
		carol := s.browser("carol")
		carol.header.Set("x-queue-ticket", ticket)
		a = carol.check("show-1")
		carol.want(a, "queued", 2, 1, 0)
		if a.body.Ticket == "" || a.body.Ticket == ticket {
			t.Errorf("carol has the ticket %q, bob %q", a.body.Ticket, ticket)
		}
		// The header has precedence over the cookie, even when it is empty.
		bob.header["X-Queue-Ticket"] = []string{""}
		if a := bob.check("show-1"); a.body.Ticket == "" || s.store.visits.Load() != before+2 {
			t.Errorf("the cookie counted beside the header: %s", a.text)
		}
	})
}

// During an outage of the store no user enters, the answer says when to ask again,
// and every user keeps the place.
func TestStoreAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 1, nil)
		s.admit(t)
		alice, bob, dave := s.browser("alice"), s.browser("bob"), s.browser("dave")
		alice.check("show-1")
		bob.check("show-1")
		cookies := len(bob.cookies)
		s.store.away.Store(true)
		time.Sleep(10 * time.Second)
		for _, b := range []*browser{alice, bob, dave} {
			for _, path := range []string{"POST /api/queue/check/show-1", "POST /api/queue/heartbeat/show-1", "GET /api/queue/status/show-1", "POST /api/queue/leave/show-1", "POST /api/queue/done/show-1"} {
				method, path, _ := strings.Cut(path, " ")
				a := b.do(method, path, "")
				b.refused(a, 503, "unavailable", "")
				if a.header.Get("Retry-After") != "3" || a.body.EntryToken != "" || len(a.set) != 0 || strings.Contains(a.text, "10.0.0.7") {
					t.Errorf("%s: %v %s", path, a.header, a.text)
				}
			}
		}
		admin := s.browser("admin")
		admin.refused(admin.do("PUT", "/api/queue/admin/threshold/show-1", `{"threshold":9}`), 503, "unavailable", "")
		// Reads, which need no store, go on; writes do not.
		assert.Equal(t, 200, alice.do("GET", "/seats/show-1", "").status, "a read of who is inside")
		alice.refused(alice.do("POST", "/reserve/show-1", ""), 503, "unavailable", "")

		s.store.away.Store(false)
		time.Sleep(pollPause)
		assert.Len(t, bob.cookies, cookies, "bob has lost cookies")
		bob.want(bob.check("show-1"), "queued", 1, 0, 0)
		dave.want(dave.check("show-1"), "queued", 2, 1, 0)
		alice.want(alice.check("show-1"), "active", 0, 0, 0)
	})
}

func TestSignInIsRequired(t *testing.T) {
	s := newSite(t, 1, nil)
	nobody := s.browser("")
	for _, path := range []string{"POST /api/queue/check/show-1", "POST /api/queue/heartbeat/show-1", "GET /api/queue/status/show-1", "POST /api/queue/leave/show-1", "POST /api/queue/done/show-1", "GET /seats/show-1", "POST /reserve/show-1"} {
		method, path, _ := strings.Cut(path, " ")
		a := nobody.do(method, path, "")
		nobody.refused(a, 401, "sign-in-required", "")
		if a.header.Get("WWW-Authenticate") == "" || strings.Contains(a.text, errNobody.Error()) {
			t.Errorf("%s: %v %s", path, a.header, a.text)
		}
	}
	for _, path := range []string{"PUT threshold", "POST pause", "POST resume", "POST clear", "GET status"} {
		method, name, _ := strings.Cut(path, " ")
		assert.Equalf(t, 401, s.browser("alice").do(method, "/api/queue/admin/"+name+"/show-1", `{"threshold":0}`).status, "%s by a user", path)
	}
	for _, user := range []string{strings.Repeat("u", driver.MaxUser+1), "u\xff"} {
		b := s.browser(user)
		b.refused(b.check("show-1"), 400, "invalid-request", "")
	}
	for _, event := range []string{strings.Repeat("e", driver.MaxEvent+1), "a%7Bb%7D", "a%20b", "%FF"} {
		b := s.browser("alice")
		b.refused(b.check(event), 400, "invalid-request", "")
	}
	away := newSite(t, 1, func(c *queuehttp.Config) {
		c.User = func(*http.Request) (string, error) { return "", errAway }
	}).browser("alice")
	away.refused(away.check("show-1"), 503, "unavailable", "")
}

// A visitor who did not pass a front gate that is on is sent there; a verified
// position is the order in line.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		positions := map[string]int64{"tenth": 10, "third": 3}
		var log bytes.Buffer
		s := newSite(t, 1, func(c *queuehttp.Config) {
			c.Logger = slog.New(slog.NewTextHandler(&log, nil))
			c.Gate = func(r *http.Request, event string) (int64, error) {
				switch user := r.Header.Get("X-User"); {
				case event != "쇼":
					t.Errorf("the gate was asked about %q", event)
					fallthrough
				case user == "forger":
					return 99, tokenRefusal
				case user == "puzzled":
					return 97, errors.New("a bug")
				case user == "unlucky":
					return 98, errAway
				default:
					return positions[user], nil
				}
			}
		})
		s.browser("alice").check("쇼")
		_, err := s.room.Gate(t.Context(), "쇼", driver.Gate{On: true})
		check(t, err)
		for _, user := range []string{"walk-in", "forger", "puzzled"} {
			b := s.browser(user)
			a := b.check("쇼")
			b.want(a, "none", 0, 0, 0)
			if !a.body.Gated || a.body.RedirectTo != "/vwr/%EC%87%BC" {
				t.Errorf("%s: %s", user, a.text)
			}
		}
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), "a bug") {
			t.Errorf("the log has %d lines: %s", n, log.String())
		}
		unlucky := s.browser("unlucky")
		unlucky.refused(unlucky.check("쇼"), 503, "unavailable", "")
		tenth, third := s.browser("tenth"), s.browser("third")
		tenth.want(tenth.check("쇼"), "queued", 1, 0, 0)
		third.want(third.check("쇼"), "queued", 1, 0, 1)
		time.Sleep(pollPause)
		tenth.want(tenth.check("쇼"), "queued", 2, 1, 0)
	})
}

// A visitor with a used position gets one of their own behind all that were given
// out, and moves no other; without Config.NewPosition the gate's page gives it.
func TestUsedPosition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		given, asked := int64(40), 0
		configure := func(c *queuehttp.Config) {
			c.Gate = func(r *http.Request, _ string) (int64, error) {
				position, err := strconv.ParseInt(r.Header.Get("X-User")[1:], 10, 64)
				return min(position, 2), err // of all others the one that "u2" has
			}
			c.NewPosition = func(r *http.Request, event string) (int64, error) {
				asked++
				switch {
				case event != "show-1":
					t.Errorf("the gate was asked about %q", event)
				case r.Header.Get("X-User") == "u9":
					return 0, nil
				case r.Header.Get("X-User") == "u8":
					return 0, errAway
				}
				given++
				return given, nil
			}
		}
		s := newSite(t, 1, configure)
		s.browser("u0").check("show-1")
		_, err := s.room.Gate(t.Context(), "show-1", driver.Gate{On: true})
		check(t, err)
		second, friend, first := s.browser("u2"), s.browser("u3"), s.browser("u1")
		second.want(second.check("show-1"), "queued", 1, 0, 0)
		friend.want(friend.check("show-1"), "queued", 2, 1, 0)
		first.want(first.check("show-1"), "queued", 1, 0, 2)
		friend.want(friend.check("show-1"), "queued", 3, 2, 0)
		if asked != 1 || given != 41 {
			t.Errorf("the gate was asked for %d positions, and gave %d", asked, given-40)
		}
		off := s.browser("u9")
		if a := off.check("show-1"); !a.body.Gated || a.body.RedirectTo != "/vwr/show-1" {
			t.Errorf("where the gate gives none: %s", a.text)
		}
		away := s.browser("u8")
		away.refused(away.check("show-1"), 503, "unavailable", "")

		s = newSite(t, 1, func(c *queuehttp.Config) { configure(c); c.NewPosition = nil })
		s.browser("u0").check("show-1")
		_, err = s.room.Gate(t.Context(), "show-1", driver.Gate{On: true})
		check(t, err)
		s.browser("u2").check("show-1")
		if a := s.browser("u3").check("show-1"); !a.body.Gated || a.body.RedirectTo != "/vwr/show-1" {
			t.Errorf("without NewPosition: %s", a.text)
		}
	})
}

func TestOperator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSite(t, 1, nil)
		s.admit(t)
		admin, alice, bob := s.browser("admin"), s.browser("alice"), s.browser("bob")
		alice.check("show-1")
		bob.check("show-1")
		a := admin.do("GET", "/api/queue/admin/status/show-1", "")
		for field, want := range map[string]string{
			"threshold": "1", "paused": "false", "gated": "false", "settling": "0", "currentUsers": "1", "entitled": "0", "queueSize": "1",
			"admittedPerSecond": "null", "joined": "2", "entered": "1", "noShows": "0", "expired": "0", "departed": "0", "swept": "0",
		} {
			if string(a.fields[field]) != want {
				t.Errorf("%s is %s, want %s", field, a.fields[field], want)
			}
		}
		if a := admin.do("POST", "/api/queue/admin/pause/show-1", ""); !a.body.Paused {
			t.Errorf("pause: %s", a.text)
		}
		if a := admin.do("PUT", "/api/queue/admin/threshold/show-1", ` {"threshold": 5} `); a.status != 200 || a.body.Threshold != 5 {
			t.Errorf("threshold: %d %s", a.status, a.text)
		}
		time.Sleep(pollPause)
		bob.want(bob.check("show-1"), "queued", 1, 0, 0)
		if a := admin.do("POST", "/api/queue/admin/resume/show-1", ""); a.body.Paused {
			t.Errorf("resume: %s", a.text)
		}
		time.Sleep(pollPause)
		bob.want(bob.check("show-1"), "active", 0, 0, 0)
		if a := admin.do("POST", "/api/queue/admin/clear/show-1", ""); a.status != 200 || a.body.CurrentUsers != 0 || a.body.QueueSize != 0 {
			t.Errorf("clear: %s", a.text)
		}
		// The next poll removes the cookie of an admission that has ended.
		out := bob.do("GET", "/api/queue/status/show-1", "")
		bob.want(out, "none", 0, 0, 0)
		if slices.ContainsFunc(out.set, func(c *http.Cookie) bool { return c.Name == "urr-entry-token-show-1" && c.MaxAge < 0 }) == false {
			t.Errorf("bob keeps an entry token: %v", out.set)
		}
	})
}

func TestThresholdNamesTheField(t *testing.T) {
	s := newSite(t, 7, nil)
	admin := s.browser("admin")
	for body, field := range map[string]string{
		``: "", `[]`: "", `5`: "", `{"threshold":5`: "", `{"threshold":5} {}`: "",
		`{}`: "threshold", `null`: "threshold", `{"threshold":null}`: "threshold", `{"threshold":"5"}`: "threshold", `{"threshold":1.5}`: "threshold",
		`{"threshold":-1}`: "threshold", `{"threshold":2147483648}`: "threshold", `{"threshold":1e99}`: "threshold", `{"threshold":5,"paused":true}`: "paused",
	} {
		a := admin.do("PUT", "/api/queue/admin/threshold/show-1", body)
		admin.refused(a, 400, "invalid-request", field)
	}
	admin.refused(admin.do("PUT", "/api/queue/admin/threshold/show-1", `{"threshold":5`+strings.Repeat(" ", 1<<20)+`}`), 413, "too-large", "")
	state, err := s.room.State(t.Context(), "show-1")
	if err != nil || state.Threshold != 7 {
		t.Errorf("a refused body has changed the threshold: %d, %v", state.Threshold, err)
	}
	if a := admin.do("PUT", "/api/queue/admin/threshold/show-1", `{"threshold":0}`); a.status != 200 || a.body.Threshold != 0 {
		t.Errorf("0: %d %s", a.status, a.text)
	}
}
