package sse_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/millrace-go/millrace/sse"
)

func TestNewSaysWhatIsWrong(t *testing.T) {
	for field, cfg := range map[string]sse.Config{
		"Max":           {Max: -1},
		"Lifetime":      {Lifetime: -1},
		"Ping":          {Ping: 2 * time.Hour},
		"WriteTimeout":  {WriteTimeout: 1},
		"MaxFrames":     {MaxFrames: -1},
		"MaxBytes":      {MaxBytes: -1},
		"Coalesce":      {Coalesce: time.Second},
		"Lease":         {Lease: 1},
		"Timeout":       {Timeout: time.Minute},
		"ReplayTimeout": {ReplayTimeout: -1},
		"Resyncs":       {Resyncs: -1},
		"Retry":         {Retry: -1},
		"Spread":        {Spread: -1},
		"Cursors":       {Cursors: []string{"a", "a"}},
	} {
		_, err := sse.New(newCap(t), newBroker(t), cfg)
		if err == nil || !strings.Contains(err.Error(), "Config."+field) || !strings.Contains(err.Error(), "give") {
			t.Errorf("%s: %v", field, err)
		}
	}
	if _, err := sse.New(newCap(t), newBroker(t), sse.Config{Cursors: []string{"a;b"}}); err == nil {
		t.Error("a cursor with a semicolon is taken")
	}
	if _, err := sse.New(nil, nil, sse.Config{}); err == nil {
		t.Error("a hub of nothing is made")
	}
}

func TestAHubRunsOnce(t *testing.T) {
	s := start(t, newCap(t), newBroker(t), sse.Config{})
	assert.Error(t, s.Run(t.Context()), "it runs twice")
}
