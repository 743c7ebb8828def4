package queuehttp_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/fault"
	"github.com/millrace-go/millrace/queue/challenge"
	"github.com/millrace-go/millrace/queue/queuehttp"
	"github.com/millrace-go/millrace/queue/token"
)

// challenged is a site whose newcomers answer a CAPTCHA while on is true: "car".
func challenged(t *testing.T, on *atomic.Bool, rates *queuehttp.JoinRates) *site {
	t.Helper()
	keys, err := token.NewRing(secret)
	check(t, err)
	c := &challenge.Config{
		Keys: keys, Limiter: buckets{}, On: func(string) bool { return on.Load() }, Page: "/captcha",
		Captcha: func(_ context.Context, _, _, answer string) error {
			switch answer {
			case "car":
				return nil
			case "away":
				return fault.MarkInfrastructure(errors.New("no answer"))
			}
			return errors.New("no car")
		},
	}
	return newSite(t, 1, func(cfg *queuehttp.Config) { cfg.Challenge, cfg.JoinRates = c, rates })
}

func TestChallengeIsTurnedOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var on atomic.Bool
		s := challenged(t, &on, nil)
		inside, waiting, late := s.browser("inside"), s.browser("waiting"), s.browser("late")
		inside.want(inside.check("e"), "active", 0, 0, 0)
		waiting.want(waiting.check("e"), "queued", 1, 0, 0)
		on.Store(true)
		for range 3 {
			a := late.check("e")
			late.refused(a, 403, "challenge-needed", "")
			assert.Equal(t, "/captcha", a.body.RedirectTo, "redirectTo")
			// Nothing is asked of those who have joined, with and without a ticket.
			time.Sleep(pollPause)
			inside.want(inside.check("e"), "active", 0, 0, 0)
			waiting.want(waiting.check("e"), "queued", 1, 0, 0)
			again := s.browser("waiting")
			again.want(again.check("e"), "queued", 1, 0, 0)
			if a := late.do("POST", "/api/queue/heartbeat/e", ""); a.body.Status != "none" {
				t.Errorf("a heartbeat: %d %s", a.status, a.text)
			}
		}
		late.header.Set(queuehttp.ChallengeHeader, "token.bus")
		late.refused(late.check("e"), 403, "challenge-needed", "")
		late.header.Set(queuehttp.ChallengeHeader, "token.away")
		late.refused(late.check("e"), 503, "unavailable", "")
		late.header.Set(queuehttp.ChallengeHeader, "token.car")
		late.want(late.check("e"), "queued", 2, 1, 0)
		// By the cookie that the page with the CAPTCHA sets.
		other := s.browser("other")
		other.cookies["c"] = &http.Cookie{Name: queuehttp.ChallengeCookie + "e", Value: "token.car"}
		other.want(other.check("e"), "queued", 3, 2, 0)
		on.Store(false)
		free := s.browser("free")
		free.want(free.check("e"), "queued", 4, 3, 0)
	})
}

// An operator switches the challenge of one event in all processes. Until then, and for other
// events, the application decides.
func TestOperatorsSwitchTheChallenge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var on atomic.Bool
		s := challenged(t, &on, nil)
		other := s.beside()
		admin, number := s.browser("admin"), 0
		newcomer := func(event string, asked bool, sites ...*site) {
			t.Helper()
			for _, at := range sites {
				number++
				v := at.browser(fmt.Sprint("v", number))
				a := v.check(event)
				if asked {
					v.refused(a, 403, "challenge-needed", "")
				} else if a.status != 200 {
					t.Errorf("a newcomer to %s: %d %s", event, a.status, a.text)
				}
			}
		}
		admins := func(method, path, body, want string) {
			t.Helper()
			if a := admin.do(method, "/api/queue/admin/"+path, body); a.status != 200 || !strings.Contains(a.text, want) {
				t.Errorf("%s %s: %d %s", method, path, a.status, a.text)
			}
		}
		newcomer("e", false, s, other)
		admins("GET", "status/e", "", `"challenged":false`)
		on.Store(true)
		admins("GET", "status/e", "", `"challenged":true`)
		newcomer("e", true, s, other)
		on.Store(false)
		admins("PUT", "challenge/e", `{"on": true}`, `"challenged":true`)
		newcomer("e", true, s)
		time.Sleep(pollPause)
		newcomer("e", true, other)
		newcomer("other", false, s, other)
		on.Store(true)
		admins("PUT", "challenge/e", `{"on": false}`, `"challenged":false`)
		newcomer("other", true, s, other)
		time.Sleep(pollPause)
		newcomer("e", false, s, other)
		for _, wrong := range []string{"", "[]", "{}", `{"on": null}`, `{"on": "yes"}`, `{"off": true}`} {
			if a := admin.do("PUT", "/api/queue/admin/challenge/e", wrong); a.status != 400 || !strings.Contains(a.text, "invalid-request") {
				t.Errorf("%s: %d %s", wrong, a.status, a.text)
			}
		}
		assert.Equal(t, 401, s.browser("user1").do("PUT", "/api/queue/admin/challenge/e", `{"on": true}`).status, "by a user")
		plain := newSite(t, 1, nil)
		assert.Equal(t, 404, plain.browser("admin").do("PUT", "/api/queue/admin/challenge/e", `{"on": true}`).status, "without a challenge")
	})
}

// A join that is asked first and answers then counts once for its address.
func TestChallengeAndRate(t *testing.T) {
	var on atomic.Bool
	on.Store(true)
	counted := buckets{}
	s := challenged(t, &on, &queuehttp.JoinRates{Limiter: counted, Rate: queuehttp.JoinRate{PerSecond: 1, Burst: 2}})
	for i, user := range []string{"a", "b", "c"} {
		v := s.browser(user)
		v.refused(v.check("e"), 403, "challenge-needed", "")
		v.header.Set(queuehttp.ChallengeHeader, "token.car")
		if a := v.check("e"); i < 2 && a.status != 200 || i == 2 && a.status != 429 {
			t.Errorf("%s: %d %s", user, a.status, a.text)
		}
	}
	if counted["e/192.0.2.1"] != 2 {
		t.Error(counted)
	}
}

// The question of the proof of work comes with the refusal.
func TestChallengeAsks(t *testing.T) {
	keys, err := token.NewRing(secret)
	check(t, err)
	s := newSite(t, 1, func(cfg *queuehttp.Config) { cfg.Challenge = &challenge.Config{Keys: keys, Limiter: buckets{}} })
	v := s.browser("v")
	a := v.check("e")
	v.refused(a, 403, "challenge-needed", "")
	var q struct {
		Puzzle string
		Bits   int
	}
	if err := json.Unmarshal(a.fields["challenge"], &q); err != nil || q.Puzzle == "" || q.Bits != 12 || a.fields["redirectTo"] != nil {
		t.Errorf("%v: %s", err, a.text)
	}
	v.header.Set(queuehttp.ChallengeHeader, "wait."+q.Puzzle)
	v.refused(v.check("e"), 429, "accessible-way-full", "")
}

// The fields of a configuration reach what asks and checks.
func TestChallengeAsConfigured(t *testing.T) {
	keys, err := token.NewRing(secret)
	check(t, err)
	cfg := &challenge.Config{Keys: keys, Limiter: buckets{}, Bits: 5, Accessible: challenge.Accessible{
		Wait: 7 * time.Second, PerMinute: 1,
		Code: func(_ context.Context, event, user, code string) error {
			if event+user+code != "ev1234" && event+user+code != "ew1234" {
				return errors.New("another code")
			}
			return nil
		},
	}}
	s := newSite(t, 2, func(c *queuehttp.Config) { c.Challenge = cfg })
	v, w := s.browser("v"), s.browser("w")
	var q struct{ Bits, Wait int }
	a := v.check("e")
	if err := json.Unmarshal(a.fields["challenge"], &q); err != nil || q.Bits != 5 || q.Wait != 7 {
		t.Errorf("%v: %s", err, a.text)
	}
	v.header.Set(queuehttp.ChallengeHeader, "code.1234")
	if a := v.check("e"); a.status != 200 {
		t.Errorf("with a code: %d %s", a.status, a.text)
	}
	w.header.Set(queuehttp.ChallengeHeader, "code.1234")
	w.refused(w.check("e"), 429, "accessible-way-full", "")

	cfg.Bits = 25
	_, err = queuehttp.New(s.room, s.entries, queuehttp.Config{User: func(*http.Request) (string, error) { return "u", nil }, Challenge: cfg})
	if err == nil || !strings.Contains(err.Error(), "Config.Challenge") || !strings.Contains(err.Error(), "Bits is 25") {
		t.Error(err)
	}
}
