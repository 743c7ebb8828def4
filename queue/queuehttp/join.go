package queuehttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/millrace-go/millrace/internal/challenger"
	"github.com/millrace-go/millrace/queue"
	"github.com/millrace-go/millrace/queue/challenge"
)

// ErrRefused is wrapped by the errors of [Handlers.Join].
var ErrRefused = errors.New("queuehttp: the visitor may not join now")

// Join is for programs that call the Check of the room themselves: the Join of a
// [queue.Visitor], by which a request is counted and challenged before its user joins.
// It decides once for each request. It is nil where Config asks for neither.
func (h *Handlers) Join(r *http.Request, event, user string) func(context.Context, queue.State) error {
	if h.cfg.JoinRates == nil && h.challenge == nil {
		return nil
	}
	var once sync.Once
	var err error
	return func(_ context.Context, s queue.State) error {
		once.Do(func() {
			if p := h.mayJoin(r, event, user, s); p != nil {
				err = fmt.Errorf("%w: %w", ErrRefused, &refusal{p})
			}
		})
		return err
	}
}

// newChallenger makes what asks and checks of a configuration.
func newChallenger(c *challenge.Config) (*challenger.Challenger, error) {
	return challenger.New(challenger.Config{
		Keys: c.Keys, Limiter: c.Limiter, On: c.On, Bits: c.Bits, Captcha: c.Captcha, Page: c.Page, Accessible: challenger.Accessible(c.Accessible),
	})
}

// mayJoin is the problem of a visitor who may not join now, or nil. A join counts once,
// when it brings an answer, and a visitor whose address has to wait keeps the answer.
func (h *Handlers) mayJoin(r *http.Request, event, user string, s queue.State) *Problem {
	answer := ""
	c := h.challenge
	if !h.challenges(event, s) {
		c = nil
	}
	if c != nil {
		if answer = h.carried(r, challengeHeader, challengeCookie, event); answer == "" {
			return h.challenged(c, event, user, nil)
		}
	}
	if h.cfg.JoinRates != nil {
		if wait := h.cfg.JoinRates.take(r, event); wait > 0 {
			return h.tooMany(wait)
		}
	}
	if c == nil {
		return nil
	}
	err := c.Check(r.Context(), event, user, answer)
	var later *challenger.Later
	switch {
	case err == nil:
		return nil
	case errors.As(err, &later):
		return h.tooManyOther(later.Wait)
	case errors.Is(err, challenger.ErrWrong):
		return h.challenged(c, event, user, err)
	}
	return h.problemOf(err)
}

// challenges says whether newcomers are challenged: as an operator has set it, else as the
// program was configured.
func (h *Handlers) challenges(event string, s queue.State) bool {
	switch {
	case h.challenge == nil:
		return false
	case s.Challenge != nil:
		return *s.Challenge
	}
	return h.challenge.On(event)
}

// challenged asks a question, or sends the visitor to the page that does.
func (h *Handlers) challenged(c *challenger.Challenger, event, user string, err error) *Problem {
	p := h.problem(http.StatusForbidden, "challenge-needed", "Something is asked of those who join",
		"answer the challenge in the header "+challengeHeader+", or at redirectTo", err)
	p.Challenge, p.RedirectTo = c.Question(event, user), c.Page()
	return p
}

func (h *Handlers) tooManyOther(wait time.Duration) *Problem {
	p := h.problem(http.StatusTooManyRequests, "accessible-way-full", "The way without a challenge has no room at the moment",
		"ask again with the same answer after the time in Retry-After", nil)
	p.RetryAfter, p.Words = wait, waitingWords
	return p
}

var waitingWords = map[string]string{
	"en": "Your browser joins the line without solving a task, which takes a little longer. Leave this page open.",
	"ko": "브라우저가 문제를 풀지 않고 줄을 서기 때문에 조금 더 걸려요. 이 페이지를 열어 두세요.",
}

var tooManyWords = map[string]string{
	"en": "Many people are joining from your network, so you are not in line yet. Leave this page open: it tries again by itself. Another network, such as mobile data, may be faster.",
	"ko": "같은 네트워크에서 많은 분이 동시에 접속하고 있어, 아직 줄에 서지 못했어요. 이 페이지를 열어 두면 알아서 다시 시도합니다. 모바일 데이터 같은 다른 네트워크가 더 빠를 수 있어요.",
}

func (h *Handlers) tooMany(wait time.Duration) *Problem {
	p := h.problem(http.StatusTooManyRequests, "too-many-joins", "Too many visitors join from this network",
		"others have joined from this address a moment ago; ask again after the time in Retry-After, or from another network", nil)
	p.RetryAfter, p.Words = wait, tooManyWords
	return p
}
