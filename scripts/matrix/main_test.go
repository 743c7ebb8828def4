package main

import (
	"io"
	"strings"
	"testing"
)

// A matrix that cannot fail proves nothing: each of these runs must be refused.
func TestReportRefuses(t *testing.T) {
	const pkg = `"Package":"github.com/millrace-go/millrace/a"`
	for name, tc := range map[string]struct {
		events string
		ok     bool
	}{
		"a pass":        {`{"Action":"pass",` + pkg + `,"Test":"T"}`, true},
		"a failure":     {`{"Action":"fail",` + pkg + `,"Test":"T"}`, false},
		"a skip":        {`{"Action":"skip",` + pkg + `,"Test":"T"}`, false},
		"nothing ran":   {`{"Action":"pass",` + pkg + `}`, false},
		"a build error": {`{"Action":"fail",` + pkg + `}`, false},
		"nothing but n/a": {`{"Action":"output",` + pkg + `,"Test":"N","Output":"    suite.go:87: n/a: no transactions"}
{"Action":"pass",` + pkg + `,"Test":"N"}`, false},
		"n/a by a capability beside a pass": {`{"Action":"output",` + pkg + `,"Test":"N","Output":"    run.go:72: n/a on mem: without Durable: it ends"}
{"Action":"skip",` + pkg + `,"Test":"N"}
{"Action":"pass",` + pkg + `,"Test":"T"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			rows := parseSuites("# c x\n./a   the title\n")
			if err := collect(rows, strings.NewReader(tc.events), io.Discard); err != nil {
				t.Fatal(err)
			}
			if err := report(rows, io.Discard, nil); (err == nil) != tc.ok {
				t.Errorf("report: %v", err)
			}
		})
	}
}
