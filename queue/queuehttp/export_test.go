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
	h.serve(h.serveCheck).ServeHTTP(w, r)
}

func (h *Handlers) ServeLeave(w http.ResponseWriter, r *http.Request) {
	h.serve(h.serveLeave).ServeHTTP(w, r)
}
