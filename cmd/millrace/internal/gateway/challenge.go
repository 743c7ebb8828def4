package gateway

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
)

// maxBody bounds what an operator sends, in bytes.
const maxBody = 4 << 10

// setChallenge turns the challenge of this gate on or off, until the gate ends or reads its
// flags again: {"on": true}.
func (n *generation) setChallenge(w http.ResponseWriter, r *http.Request) {
	var ask struct {
		On *bool `json:"on"`
	}
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	body.DisallowUnknownFields()
	if err := body.Decode(&ask); err != nil || ask.On == nil {
		say(w, http.StatusBadRequest, `send {"on": true} or {"on": false}`)
		return
	}
	if was := n.challenged.Swap(*ask.On); was != *ask.On {
		n.settings.Logger.Info("gate: an operator has switched the challenge",
			slog.Bool("on", *ask.On), slog.String("by", r.Header.Get("X-Operator")), slog.String("why", r.Header.Get("X-Reason")))
	}
	n.sayChallenge(w)
}

func (n *generation) sayChallenge(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = fmt.Fprintf(w, "{\"on\":%t}\n", n.challenged.Load()) // the client may be gone
}
