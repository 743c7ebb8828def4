package event

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// jsonSamples are texts at the edges of the grammar.
var jsonSamples = []string{
	``, ` `, `null`, `nul`, `nulll`, `true`, `false`, `tru`, `0`, `-0`, `-`, `01`, `1.`, `.1`, `1.5e`, `1e+`, `1E-7`, `+1`, `1e400`, `- 1`,
	`""`, `"`, `"\`, `"\"`, `"\\"`, `"\u00e9"`, `"\u00g9"`, `"\u00`, `"\x"`, "\"\n\"", "\"\x7f\"", "\"\xff\"", `"é"`, `"\ud800"`,
	`[]`, `[`, `]`, `[1`, `[1,`, `[1,]`, `[,1]`, `[1 2]`, `[1,2]`, ` [ 1 , [ ] , { } ] `, "[\v]",
	`{}`, `{`, `}`, `{"a"}`, `{"a":}`, `{"a":1`, `{"a":1,}`, `{,}`, `{a:1}`, `{"a":1 "b":2}`, ` { "a" : { "b" : [ { } ] } , "a" : 1 } `, `{"a":1}}`, `{"a":1} x`,
	"\ufeff{}", `'a'`, `/**/1`, "\x00",
}

func TestCheckJSONAgreesWithStandardLibrary(t *testing.T) {
	for _, s := range jsonSamples {
		compareWithStandardLibrary(t, []byte(s))
	}
	for _, depth := range []int{maxDepth - 1, maxDepth, maxDepth + 1} {
		compareWithStandardLibrary(t, []byte(strings.Repeat("[", depth)+strings.Repeat("]", depth)))
		compareWithStandardLibrary(t, []byte(strings.Repeat(`{"a":`, depth)+"1"+strings.Repeat("}", depth)))
	}
}

func compareWithStandardLibrary(t *testing.T, data []byte) {
	t.Helper()
	want := json.Valid(data) && utf8.Valid(data)
	if err := checkJSON(data); (err == nil) != want {
		t.Errorf("checkJSON(%.100q) = %v, the standard library says %v", data, err, want)
	}
}

func FuzzCheckJSON(f *testing.F) {
	for _, s := range jsonSamples {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) { compareWithStandardLibrary(t, data) })
}

func TestUnquoteAgreesWithStandardLibrary(t *testing.T) {
	for _, s := range jsonSamples {
		if !strings.HasPrefix(s, `"`) || checkJSON([]byte(s)) != nil {
			continue
		}
		var want string
		require.NoError(t, json.Unmarshal([]byte(s), &want))
		if got, err := unquote([]byte(s)); err != nil || string(got) != want {
			t.Errorf("unquote(%s) = %q, %v; want %q", s, got, err, want)
		}
	}
}
