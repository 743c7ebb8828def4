package queuehttp

import "net/http"

var (
	ChallengeHeader = challengeHeader
	ChallengeCookie = challengeCookie
	AppendPlace     = appendPlace
	AppendState     = appendState
)

// The handlers by themselves, for routers of tests.

func (h *Handlers) ServeCheck(w http.ResponseWriter, r *http.Request) {
	h.polls(h.room.Check, true).ServeHTTP(w, r)
}

func (h *Handlers) ServeLeave(w http.ResponseWriter, r *http.Request) {
	h.departs(h.room.Leave).ServeHTTP(w, r)
}
