package config

import (
	"slices"

	"github.com/millrace-go/millrace/queue/frontgate/dynamogate"
)

// edgeSettings are those of the parts before the waiting room.
func (c *Config) edgeSettings() []setting {
	return []setting{
		{"BOXOFFICE_GATE_URL", "gate-url", "", "where the counters of the front gates are: dynamodb://region/prefix, with ?endpoint=http://host:port for another server than Amazon's and ?create=true to have missing tables made; default: with the waiting room, in Redis or in this process", sound(&c.GateURL, checkGate)},
		{"BOXOFFICE_EDGE_SECRET", "edge-secret", "", "lets a trusted edge take reading requests past the waiting room by the signed header X-Queue-Pass, at least 32 bytes; several separated by commas: all verify; default: no edge is trusted, and the header means nothing (other users can see a flag; prefer the variable)", secrets(&c.EdgeSecrets)},
	}
}

func checkGate(raw string) error {
	_, err := dynamogate.ParseURL(raw)
	return err
}

func (c *Config) checkEdge(bad func(env, format string, args ...any)) {
	for _, s := range c.EdgeSecrets {
		if s != "" && (s == c.Secret || slices.Contains(c.EntrySecrets, s)) {
			bad("BOXOFFICE_EDGE_SECRET", "it is a secret of the box office, by which the edge could sign more than passes; give the edge one of its own")
		}
	}
}
