package config

import (
	"slices"
	"strings"

	"github.com/millrace-go/millrace/examples/boxoffice/internal/auth"
	"github.com/millrace-go/millrace/queue/frontgate/dynamogate"
)

// rawEdge has the settings of the parts before the waiting room.
type rawEdge struct{ gateURL, secret string }

func (r *rawEdge) settings() []setting {
	return []setting{
		{"BOXOFFICE_GATE_URL", "gate-url", "", "where the counters of the front gates are: dynamodb://region/prefix, with ?endpoint=http://host:port for another server than Amazon's and ?create=true to have missing tables made; default: with the waiting room, in Redis or in this process", &r.gateURL},
		{"BOXOFFICE_EDGE_SECRET", "edge-secret", "", "lets a trusted edge take reading requests past the waiting room by the signed header X-Queue-Pass, at least 32 bytes; several separated by commas: all verify; default: no edge is trusted, and the header means nothing (other users can see a flag; prefer the variable)", &r.secret},
	}
}

// check puts the settings into c.
func (r *rawEdge) check(c *Config, bad func(env, format string, args ...any)) {
	if c.GateURL = r.gateURL; c.GateURL != "" {
		if _, err := dynamogate.ParseURL(c.GateURL); err != nil {
			bad("BOXOFFICE_GATE_URL", "%v", err)
		}
	}
	if r.secret == "" {
		return
	}
	c.EdgeSecrets = strings.Split(r.secret, ",")
	for _, s := range c.EdgeSecrets {
		if err := auth.CheckSecret(s); err != nil {
			bad("BOXOFFICE_EDGE_SECRET", "%v", err)
		}
		if s != "" && (s == c.Secret || slices.Contains(c.EntrySecrets, s)) {
			bad("BOXOFFICE_EDGE_SECRET", "it is a secret of the box office, by which the edge could sign more than passes; give the edge one of its own")
		}
	}
}
